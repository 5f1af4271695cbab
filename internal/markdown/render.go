// Package markdown renders text that is still arriving as sanitized HTML. Buffer cuts the text into
// parts where blocks end. StreamBuffer also handles other events that arrive between the chunks of
// a text: inside a list, table or code block, such events wait for the end of the block. Only the
// markdown source is stored; the HTML is a view of it.
//
// The final parts, concatenated, equal the rendering of the whole text, however the text was
// divided into chunks. There are three exceptions: links that are used before their definition,
// blocks over HardLimit, and blocks that another event ended. The cost of a block is limited
// (bounds.go). A block over a limit is shown as escaped source.
package markdown

import (
	"bytes"
	"html"
	"strings"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// machine renders CommonMark with GitHub's extensions. It shows HTML tags as text, because the text
// comes from a model. Also, a tag may begin in one part and end in another.
var machine = goldmark.New(
	goldmark.WithExtensions(extension.GFM),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(shownTags{}, 1))),
)

// policy removes dangerous HTML. It is a second safeguard: `machine` should never produce such
// HTML.
var policy = func() *bluemonday.Policy {
	p := bluemonday.UGCPolicy()
	p.AllowAttrs("class").Matching(languageClass).OnElements("code")
	p.AllowAttrs("type").Matching(checkboxType).OnElements("input")
	p.AllowAttrs("checked", "disabled").OnElements("input")
	p.AllowAttrs("align").Matching(bluemonday.CellAlign).OnElements("th", "td")
	p.AllowAttrs("style").Matching(alignStyle).OnElements("th", "td")
	p.AllowAttrs("start").Matching(bluemonday.Integer).OnElements("ol")
	p.RequireNoFollowOnLinks(true)
	return p
}()

// outliner parses blocks without their inline content. It is a cheap way to find the starts and
// ends of blocks.
var outliner = parser.NewParser(
	parser.WithBlockParsers(parser.DefaultBlockParsers()...),
	parser.WithParagraphTransformers(append(parser.DefaultParagraphTransformers(),
		util.Prioritized(extension.NewTableParagraphTransformer(), 200))...),
)

// Render returns the HTML of a complete text.
func Render(source string) string {
	known := newLinks()
	var parts []string
	b := NewBuffer(func(p Part) {
		parts = append(parts, p.Source)
	})
	b.Write(0, source)
	b.Flush()
	for _, part := range parts {
		collect([]byte(part), known)
	}
	var out strings.Builder
	for _, part := range parts {
		html, _ := render([]byte(part), known, false)
		out.WriteString(html)
	}
	return out.String()
}

// collect adds the link definitions of a piece of text to the known ones.
func collect(source []byte, known *links) {
	if bytes.Contains(source, []byte("]:")) && !exceedsText(source) {
		pc := newLinkContext(known)
		outliner.Parse(text.NewReader(source), parser.WithContext(pc))
		for _, ref := range pc.found {
			known.add(ref)
		}
	}
}

// render renders a piece of text that consists of complete blocks. If the piece exceeds the limits,
// the result `html` is its escaped source, and `plain` is true. If `define` is true, the link
// definitions of the piece are added to `known`.
func render(source []byte, known *links, define bool) (html string, plain bool) {
	if define {
		collect(source, known)
	}
	if !exceedsText(source) && !exceedsInlines(outliner.Parse(text.NewReader(source)), source) {
		html, plain = renderBounded(source, known)
		if !plain {
			return html, false
		}
	}
	return asItStands(source), true
}

func renderBounded(source []byte, known *links) (html string, exceeds bool) {
	doc := machine.Parser().Parse(text.NewReader(source), parser.WithContext(newLinkContext(known)))
	if exceedsDepth(doc) || linked(doc) > outputLimit(len(source)) {
		return "", true
	}
	out := limitedBuffer{limit: outputLimit(len(source))}
	if err := machine.Renderer().Render(&out, source, doc); err != nil {
		return "", true
	}
	html = policy.Sanitize(out.String())
	return html, len(html) > out.limit
}

// asItStands returns the escaped source of a block, as HTML that shows the source.
func asItStands(source []byte) string {
	return policy.Sanitize("<pre>" + html.EscapeString(string(source)) + "</pre>\n")
}

// outline parses the blocks of a text. It returns nil if the text exceeds the limits.
func outline(source []byte) ast.Node {
	if exceedsText(source) {
		return nil
	}
	return outliner.Parse(text.NewReader(source))
}

// lastBlock returns the last top-level block. It also reports whether the block begins at or after
// the offset lineStart.
func lastBlock(source []byte, lineStart int) last {
	doc := outline(source)
	if doc == nil || doc.LastChild() == nil {
		return last{}
	}
	return last{node: doc.LastChild(), here: doc.LastChild().Pos() >= lineStart}
}

// lastStart returns the offset of the line in which the last top-level block begins; 0 if it is
// unknown.
func lastStart(source []byte) int {
	doc := outline(source)
	if doc == nil || doc.LastChild() == nil {
		return 0
	}
	at := max(doc.LastChild().Pos(), 0)
	return bytes.LastIndexByte(source[:at], '\n') + 1
}

// shownTags renders HTML tags as text, and images as links.
type shownTags struct{}

func (shownTags) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHTMLBlock, showBlock)
	r.Register(ast.KindRawHTML, showInline)
	r.Register(ast.KindImage, linkImage)
}

// linkImage renders an image as a link. If the page loaded the image, the server named in the text
// would learn that somebody reads the text, and could receive data in the address.
func linkImage(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	for up := n.Parent(); up != nil; up = up.Parent() {
		if up.Kind() == ast.KindLink || up.Kind() == ast.KindImage {
			return ast.WalkContinue, nil
		}
	}
	if !entering {
		_, err := w.WriteString("</a>")
		return ast.WalkContinue, err
	}
	_, _ = w.WriteString(`<a href="`)
	_, _ = w.Write(util.EscapeHTML(util.URLEscape(n.(*ast.Image).Destination, true)))
	_, err := w.WriteString(`">`)
	return ast.WalkContinue, err
}

func showBlock(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	_, _ = w.WriteString("<p>")
	block := n.(*ast.HTMLBlock)
	show(w, source, block.Lines())
	if block.HasClosure() {
		_, _ = w.Write(util.EscapeHTML(block.ClosureLine.Value(source)))
	}
	_, err := w.WriteString("</p>\n")
	return ast.WalkContinue, err
}

func showInline(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		show(w, source, n.(*ast.RawHTML).Segments)
	}
	return ast.WalkSkipChildren, nil
}

func show(w util.BufWriter, source []byte, lines *text.Segments) {
	for i := range lines.Len() {
		line := lines.At(i)
		_, _ = w.Write(util.EscapeHTML(line.Value(source)))
	}
}
