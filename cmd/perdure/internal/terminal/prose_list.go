package terminal

import (
	"regexp"
	"strconv"
	"strings"

	xansi "github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

var proseParser = goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()

// minItemWidth is the minimum width of an item's text in columns.
const minItemWidth = 16

// lists formats text with lists: the continuation of an item is aligned with its first word. It
// returns false if there is no list.
func (w *prose) lists(source string, width int, between string) (string, bool) {
	doc := proseParser.Parse(text.NewReader([]byte(source)))
	found := false
	var blocks []string
	for node := doc.FirstChild(); node != nil; node = node.NextSibling() {
		if node.Pos() < 0 {
			return "", false
		}
		if list, ok := node.(*ast.List); ok {
			found = true
			blocks = append(blocks, w.list(source, list, width))
		} else {
			blocks = append(blocks, w.render(sourceOf(source, node), width))
		}
	}
	return strings.Join(blocks, between), found
}

func (w *prose) list(source string, list *ast.List, width int) string {
	gap := "\n\n"
	if list.IsTight {
		gap = "\n"
	}
	var items []string
	for node := list.FirstChild(); node != nil; node = node.NextSibling() {
		marker := "• "
		if list.IsOrdered() {
			marker = strconv.Itoa(list.Start+len(items)) + ". "
		}
		columns := 0
		if item, ok := node.(*ast.ListItem); ok {
			columns = item.Offset
		}
		body, room := dedent(sourceOf(source, node), columns), max(width-xansi.StringWidth(marker), minItemWidth)
		laid := strings.Trim(body, "\n")
		if room > minItemWidth { // otherwise deeply nested lists: the layout's time is cubic in their depth
			laid = w.layOut(body, room, gap)
		}
		items = append(items, hangIndent(marker, laid))
	}
	return strings.Join(items, gap)
}

// sourceOf returns the source of a block: its lines up to the next block, or up to the block after
// its parent.
func sourceOf(source string, node ast.Node) string {
	end := len(source)
	for at := node; at != nil; at = at.Parent() {
		if next := at.NextSibling(); next != nil && next.Pos() >= 0 {
			end = lineStart(source, next.Pos())
			break
		}
	}
	return source[lineStart(source, node.Pos()):end]
}

// lineStart returns the beginning of the line of a position.
func lineStart(source string, at int) int {
	return strings.LastIndexByte(source[:at], '\n') + 1
}

// itemMarker matches the marker of an item.
var itemMarker = regexp.MustCompile(`^[ \t]*(?:[-+*]|[0-9]{1,9}[.)])`)

// dedent removes the first columns of an item: the marker and the blanks around it, and from the
// following lines at most the same number of blanks.
func dedent(item string, columns int) string {
	var out strings.Builder
	first, rest, _ := strings.Cut(item, "\n")
	marker := len(itemMarker.FindString(first))
	out.WriteString(withoutBlanks(first[marker:], columns-marker) + "\n")
	for line := range strings.Lines(rest) {
		out.WriteString(withoutBlanks(strings.TrimRight(line, "\n"), columns) + "\n")
	}
	return out.String()
}

// withoutBlanks removes at most the given columns of blanks from the start of a line.
func withoutBlanks(line string, columns int) string {
	for range columns {
		if rest, ok := strings.CutPrefix(line, "\t"); ok {
			return rest
		}
		rest, ok := strings.CutPrefix(line, " ")
		if !ok {
			break
		}
		line = rest
	}
	return line
}

// hangIndent puts a marker before the first line of a text, and blanks before the other lines.
func hangIndent(marker, text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		switch {
		case i == 0:
			lines[i] = strings.TrimRight(marker+line, " ")
		case line != "":
			lines[i] = strings.Repeat(" ", xansi.StringWidth(marker)) + line
		}
	}
	return strings.Join(lines, "\n")
}
