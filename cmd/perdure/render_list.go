package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	xansi "github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

var proseParser = goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()

// leastItem is the minimum width of an item's text in columns.
const leastItem = 16

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
		body, room := dedent(sourceOf(source, node), columns), max(width-xansi.StringWidth(marker), leastItem)
		laid := strings.Trim(body, "\n")
		if room > leastItem { // otherwise deeply nested lists: the layout's time is cubic in their depth
			laid = w.laidOut(body, room, gap)
		}
		items = append(items, hang(marker, laid))
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

// hang puts a marker before the first line of a text, and blanks before the other lines.
func hang(marker, text string) string {
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

// tableRule matches the line below the header of a table.
var tableRule = regexp.MustCompile(`(?m)^[ \t]*\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$`)

// narrowed removes the padding with which a formatted table fills the terminal's width. Other text
// is unchanged.
func narrowed(source, laid string) string {
	if !strings.Contains(source, "|") || !tableRule.MatchString(source) {
		return laid
	}
	lines := strings.Split(laid, "\n")
	rule := slices.IndexFunc(lines, func(line string) bool {
		plain := xansi.Strip(line)
		return strings.Contains(plain, "─┼─") && strings.Trim(plain, "─┼ ") == ""
	})
	if rule < 0 {
		return laid
	}
	first, last := rule, rule
	for first > 0 && strings.TrimSpace(xansi.Strip(lines[first-1])) != "" {
		first--
	}
	for last < len(lines)-1 && strings.TrimSpace(xansi.Strip(lines[last+1])) != "" {
		last++
	}
	edges := columnEdges(xansi.Strip(lines[rule]))
	spare := make([][2]int, len(edges))
	for i, edge := range edges {
		spare[i] = spareOf(lines[first:last+1], rule-first, edge)
	}
	for at := first; at <= last; at++ {
		lines[at] = narrowLine(lines[at], edges, spare)
	}
	return strings.Join(lines, "\n")
}

// columnEdges returns the beginnings and ends of a table's columns, from its rule.
func columnEdges(rule string) [][2]int {
	var edges [][2]int
	at := 0
	for part := range strings.SplitSeq(rule, "┼") {
		wide := xansi.StringWidth(part)
		edges = append(edges, [2]int{at, at + wide})
		at += wide + 1
	}
	return edges
}

// spareOf returns the number of blanks that can be removed on the left and on the right of a
// column, so that at least one remains in each cell.
func spareOf(lines []string, rule int, edge [2]int) [2]int {
	wide := edge[1] - edge[0]
	left, right := wide, wide
	for i, line := range lines {
		cell := xansi.Strip(xansi.Cut(line, edge[0], edge[1]))
		cell += strings.Repeat(" ", max(wide-xansi.StringWidth(cell), 0)) // the end of a line may be cut off
		if i == rule || strings.TrimSpace(cell) == "" {
			continue
		}
		left = min(left, len(cell)-len(strings.TrimLeft(cell, " ")))
		right = min(right, len(cell)-len(strings.TrimRight(cell, " ")))
	}
	if left == wide { // the column is empty
		return [2]int{0, max(wide-2, 0)}
	}
	return [2]int{max(left-1, 0), max(right-1, 0)}
}

func narrowLine(line string, edges, spare [][2]int) string {
	var out strings.Builder
	for i, edge := range edges {
		if i > 0 {
			out.WriteString(xansi.Cut(line, edge[0]-1, edge[0]))
		}
		out.WriteString(xansi.Cut(line, edge[0]+spare[i][0], edge[1]-spare[i][1]))
	}
	return out.String()
}
