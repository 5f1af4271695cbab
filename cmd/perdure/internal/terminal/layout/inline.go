package layout

import (
	"bufio"
	"html"
	"strings"

	"github.com/perdure/perdure/internal/visible"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	render "github.com/yuin/goldmark/renderer/html"
)

// font is a property of a text: the parameters of the sequences that begin and end it. Only the colors
// of the terminal are used, so that they fit dark and light backgrounds.
type font struct{ begin, end string }

var (
	fontBold       = font{"1", "22"}
	fontItalic     = font{"3", "23"}
	fontUnderlined = font{"4", "24"}
	fontStruck     = font{"9", "29"}
	fontBlue       = font{"34", "39"}
	fontCyan       = font{"36", "39"}
)

func (l *layout) styled(f font, text string) string {
	if !l.colour || text == "" {
		return text
	}
	return "\x1b[" + f.begin + "m" + text + "\x1b[" + f.end + "m"
}

// inline returns the formatted text of the child nodes of a Markdown node.
func (l *layout) inline(in ast.Node) string {
	var out strings.Builder
	for node := in.FirstChild(); node != nil; node = node.NextSibling() {
		out.WriteString(l.span(node))
	}
	return out.String()
}

func (l *layout) span(node ast.Node) string {
	switch node := node.(type) {
	case *ast.Text:
		return l.text(node)
	case *ast.String:
		return visible.Text(string(node.Value))
	case *ast.CodeSpan:
		return l.styled(fontCyan, visible.Text(l.code(node)))
	case *ast.Emphasis:
		if node.Level == 1 {
			return l.styled(fontItalic, l.inline(node))
		}
		return l.styled(fontBold, l.inline(node))
	case *extast.Strikethrough:
		return l.styled(fontStruck, l.inline(node))
	case *ast.Link:
		return l.link(l.inline(node), string(node.Destination))
	case *ast.AutoLink:
		return l.link("", string(node.Label(l.source)))
	case *ast.Image:
		return l.link("Image: "+l.inline(node)+" →", string(node.Destination))
	case *ast.RawHTML:
		var raw strings.Builder
		for i := range node.Segments.Len() {
			at := node.Segments.At(i)
			raw.Write(at.Value(l.source))
		}
		return visible.Text(raw.String())
	case *extast.TaskCheckBox:
		if node.IsChecked {
			return "[x] "
		}
		return "[ ] "
	}
	return l.inline(node)
}

func (l *layout) text(node *ast.Text) string {
	text := visible.Text(unescaped(node.Segment.Value(l.source)))
	switch {
	case node.HardLineBreak():
		return text + "\n"
	case node.SoftLineBreak():
		return text + " "
	}
	return text
}

// code returns the text of a code span as it is in the source, because Markdown has no escapes there.
func (l *layout) code(node *ast.CodeSpan) string {
	var out strings.Builder
	for child := node.FirstChild(); child != nil; child = child.NextSibling() {
		if text, ok := child.(*ast.Text); ok {
			out.Write(text.Segment.Value(l.source))
		}
	}
	return strings.ReplaceAll(out.String(), "\n", " ")
}

// link shows where a link leads: terminals do not show the target of a linked text.
func (l *layout) link(text, to string) string {
	to = visible.Inline(unescaped([]byte(to)))
	if text == "" || text == to {
		return l.styled(fontBlue, l.styled(fontUnderlined, to))
	}
	return l.styled(fontBold, text) + " " + l.styled(fontBlue, l.styled(fontUnderlined, to))
}

// unescaped returns a text of markdown without its escapes and references.
func unescaped(source []byte) string {
	var out strings.Builder
	w := bufio.NewWriter(&out)
	render.DefaultWriter.Write(w, source)
	_ = w.Flush() // a strings.Builder returns no error
	return html.UnescapeString(out.String())
}
