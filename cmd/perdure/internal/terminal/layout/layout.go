// Package layout formats markdown for a terminal.
package layout

import (
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
	xansi "github.com/charmbracelet/x/ansi"
	"github.com/perdure/perdure/internal/visible"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

var proseParser = goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()

// minProseWidth is the minimum width of nested text in columns. Text that is nested deeper is not
// formatted.
const minProseWidth = 16

// layout formats markdown for a terminal.
type layout struct {
	source []byte
	colour bool
}

// Markdown returns markdown formatted for a width in columns, with styles if `colour` is set.
func Markdown(source string, width int, colour bool) string {
	l := &layout{[]byte(source), colour}
	return l.blocks(proseParser.Parse(text.NewReader(l.source)), width, "\n\n")
}

// blocks formats the blocks inside a block, and joins them. The parameter `between` is the
// separator.
func (l *layout) blocks(in ast.Node, width int, between string) string {
	if width < minProseWidth {
		return l.plain(in)
	}
	var all []string
	for node := in.FirstChild(); node != nil; node = node.NextSibling() {
		if block := l.block(node, width); block != "" {
			all = append(all, block)
		}
	}
	return strings.Join(all, between)
}

func (l *layout) block(node ast.Node, width int) string {
	switch node := node.(type) {
	case *ast.Paragraph, *ast.TextBlock:
		return wrapped(l.inline(node), width)
	case *ast.Heading:
		title := l.styled(fontBlue, l.styled(fontBold, l.inline(node)))
		if node.Level == 1 {
			title = l.styled(fontUnderlined, title)
		}
		return wrapped(title, width)
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		return indented("  ", l.lines(node))
	case *ast.Blockquote:
		return indented("│ ", l.blocks(node, width-2, "\n\n"))
	case *ast.List:
		return l.list(node, width)
	case *ast.ThematicBreak:
		return strings.Repeat("─", min(width, 8))
	case *extast.Table:
		return l.table(node, width)
	case *ast.HTMLBlock:
		return wrapped(l.lines(node), width)
	}
	return l.blocks(node, width, "\n\n")
}

// list formats a list. All lines of an item are indented as far as the text after its marker.
func (l *layout) list(list *ast.List, width int) string {
	between := "\n\n"
	if list.IsTight {
		between = "\n"
	}
	var items []string
	for node := list.FirstChild(); node != nil; node = node.NextSibling() {
		marker := "• "
		if list.IsOrdered() {
			marker = strconv.Itoa(list.Start+len(items)) + ". "
		}
		wide := xansi.StringWidth(marker)
		rest := indented(strings.Repeat(" ", wide), l.blocks(node, width-wide, between))
		items = append(items, strings.TrimRight(marker+strings.TrimPrefix(rest, strings.Repeat(" ", wide)), " "))
	}
	return strings.Join(items, between)
}

// lines returns the source lines of a block of code or HTML, safe for a terminal.
func (l *layout) lines(node ast.Node) string {
	var out strings.Builder
	for _, line := range node.Lines().Sliced(0, node.Lines().Len()) {
		out.Write(line.Value(l.source))
	}
	return visible.Text(strings.TrimRight(out.String(), "\n"))
}

// plain returns the source lines of all blocks in a block, without formatting them.
func (l *layout) plain(node ast.Node) string {
	var all []string
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if entering && n.Type() == ast.TypeBlock && n.Lines() != nil && n.Lines().Len() > 0 {
			all = append(all, l.lines(n))
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(all, "\n")
}

// indented puts a prefix before each line that is not empty.
func indented(prefix, text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = prefix + line
		}
	}
	return strings.Join(lines, "\n")
}

// wrapped breaks a styled text into lines of at most `width` columns. Styles that cross a line
// break are ended and begun again there.
func wrapped(text string, width int) string {
	lines := strings.Split(lipgloss.Wrap(text, width, ""), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}
