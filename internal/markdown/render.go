// Package markdown renders text that is still coming as finished, sanitised
// HTML: Buffer cuts it into parts where blocks end, StreamBuffer keeps other
// events out of the middle of a list, table or code block. Raw markdown is what
// is stored; this is one view of it.
//
// Final parts joined are the rendering of the whole text, however it was cut
// into chunks, but for three things: definitions of links that come after their
// use, blocks over HardLimit, and pieces that another event ended.
package markdown

import (
	"bytes"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// machine is CommonMark with GitHub's extensions. Tags in the text are shown,
// not obeyed: a model's answer is data, and a tag that opens in one part and
// closes in another would tie the parts together.
var machine = goldmark.New(
	goldmark.WithExtensions(extension.GFM),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(shownTags{}, 1))),
)

// policy is the second guard: what it removes should never have been made.
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

// Render gives the HTML of a whole text.
func Render(source string) string {
	return render([]byte(source), parser.NewContext())
}

// render renders a text with the link definitions of pc, and adds its own to it.
func render(source []byte, pc parser.Context) string {
	doc := machine.Parser().Parse(text.NewReader(source), parser.WithContext(pc))
	var out bytes.Buffer
	if err := machine.Renderer().Render(&out, source, doc); err != nil {
		return "" // a bytes.Buffer does not fail
	}
	return policy.Sanitize(out.String())
}

// blocks gives the blocks of a text's top level.
func blocks(source []byte) []ast.Node {
	doc := machine.Parser().Parse(text.NewReader(source))
	var all []ast.Node
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		all = append(all, n)
	}
	return all
}

// shownTags renders tags as text, and images as links.
type shownTags struct{}

func (shownTags) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHTMLBlock, showBlock)
	r.Register(ast.KindRawHTML, showInline)
	r.Register(ast.KindImage, linkImage)
}

// linkImage makes an image a link: a page that fetched it would tell whoever the
// text names that it is being read, and whatever the text put into the address.
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
