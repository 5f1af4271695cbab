package markdown

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
)

// maxAsks is the maximum number of times that goldmark parses one piece of text for the scanner.
const maxAsks = 16

// kind is the kind of the open top-level block.
type kind int

const (
	none kind = iota
	paragraph
	indentedCode
	fencedCode
	htmlBlock
	quote
	list
	// lost means that the scanner does not know the kind of the open block.
	lost
)

// scanner tracks the top-level blocks of a text line by line, in time linear in the text. It
// decides where the text can be cut into pieces that render like the whole: after a block that has
// ended, or before a block that begins. Where the rules of CommonMark cannot be applied to single
// lines, the scanner asks goldmark to parse the text. If the scanner has asked maxAsks times, or
// goldmark cannot decide, the kind of the block becomes `lost`, and the scanner allows no cuts.
type scanner struct {
	kind kind
	// blank reports whether the last line was blank.
	blank bool

	// The following fields are only for a paragraph.
	defines bool // the paragraph may begin with link definitions
	lines   int
	table   bool // a line of the paragraph may be the delimiter row of a table

	// The following fields are only for a fenced code block.
	fence  byte
	length int

	html ast.HTMLBlockType

	// column is only for a list. The content of the list's last item begins at this column.
	column int
	// empty reports whether the list's last item has no content yet.
	empty bool
	// hidden reports whether the innermost open list item may contain code or HTML. That may include
	// blank lines, so a blank line does not end the item for certain.
	hidden bool

	// text reports whether the innermost open block of a quote or list is certainly a paragraph, so
	// that a line of text continues it.
	text bool

	asks int
}

// last is goldmark's answer about the last top-level block of the scanned lines.
type last struct {
	node ast.Node
	// here reports whether the block begins with the newest line.
	here bool
}

// step processes the next complete line. It calls the function `ask` at most once, to ask goldmark
// about the last block. The results `before` and `after` report whether the text can be cut before
// and after the line.
func (s *scanner) step(line []byte, ask func() last) (before, after bool) {
	if s.kind == lost {
		return false, false
	}
	if hasOddSpace(line) {
		s.kind = lost
		return false, false
	}
	blank := isBlank(line)
	columns, text := indentOf(line, 0)
	switch s.kind {
	case none:
		if !blank {
			after = s.open(line, ask)
		}
	case paragraph:
		before, after = s.inParagraph(line, columns, text, blank, ask)
	case indentedCode:
		if !blank && columns < 4 {
			before, after = true, s.open(line, ask)
		}
	case fencedCode:
		if columns < 4 && closesFence(text, s.fence, s.length) {
			after = s.close()
		}
	case htmlBlock:
		if closesHTML(line, s.html) {
			after = s.close()
		}
	case quote:
		before, after = s.inQuote(line, columns, text, blank, ask)
	case list:
		before, after = s.inList(line, columns, text, blank, ask)
	}
	s.blank = blank
	return before, after
}

func (s *scanner) close() bool {
	*s = scanner{asks: s.asks}
	return true
}

// open begins a block with its first line. The result `whole` reports whether the block consists
// only of this line.
func (s *scanner) open(line []byte, ask func() last) (whole bool) {
	*s = scanner{asks: s.asks}
	columns, text := indentOf(line, 0)
	if columns >= 4 {
		s.kind = indentedCode
		return false
	}
	mark, length := openingFence(text)
	m := listMarker(text)
	switch {
	case length > 0:
		s.kind, s.fence, s.length = fencedCode, mark, length
	case text[0] == '>':
		s.kind, s.text = quote, isPlain(text)
	case isATXHeading(text), isThematicBreak(text):
		return s.close()
	case m.width > 0:
		s.item(columns, text, m)
	case text[0] == '<':
		return s.tag(line, ask)
	default:
		s.kind, s.defines, s.lines = paragraph, text[0] == '[', 1
	}
	return false
}

// tag begins a block whose first line begins with "<". The result `whole` reports whether the block
// consists only of this line.
func (s *scanner) tag(line []byte, ask func() last) (whole bool) {
	switch node := s.ask(ask).node.(type) {
	case *ast.HTMLBlock:
		s.kind, s.html = htmlBlock, node.HTMLBlockType
		if closesHTML(line, s.html) {
			return s.close()
		}
	case *ast.Paragraph:
		s.kind, s.lines = paragraph, 1
	default:
		s.kind = lost
	}
	return false
}

// item begins a list item.
func (s *scanner) item(columns int, text []byte, m marker) {
	s.kind = list
	content := text[m.width:]
	gap, rest := indentOf(content, columns+m.width)
	s.empty = len(trimEnding(rest)) == 0
	if s.empty || gap > 4 {
		gap = 1
	}
	s.column = columns + m.width + gap
	s.hidden = hidesFence(text) || bytes.IndexByte(text, '<') >= 0
	s.text = !s.hidden && isPlain(content)
}

func (s *scanner) inParagraph(line []byte, columns int, text []byte, blank bool, ask func() last) (before, after bool) {
	switch {
	case blank:
		return false, s.close()
	case columns >= 4:
	case isSetextUnderline(text) && !s.defines && !s.table:
		return false, s.close()
	case isSetextUnderline(text):
		if _, heading := s.ask(ask).node.(*ast.Heading); heading {
			return false, s.close()
		}
		s.kind = lost
		return false, false
	case interrupts(text):
		return true, s.open(line, ask)
	case text[0] == '<':
		return s.maybeTag(line, ask)
	}
	s.table = s.table || isTableDelimiter(text)
	s.lines++
	return false, false
}

// maybeTag processes a line that may begin an HTML block inside a paragraph.
func (s *scanner) maybeTag(line []byte, ask func() last) (before, after bool) {
	now := s.ask(ask)
	switch node := now.node.(type) {
	case *ast.HTMLBlock:
		whole := s.tag(line, func() last { return last{node: node} })
		return true, whole
	case *ast.Paragraph:
		s.lines++
		return false, false
	}
	s.kind = lost
	return false, false
}

func (s *scanner) inQuote(line []byte, columns int, text []byte, blank bool, ask func() last) (before, after bool) {
	switch {
	case blank:
		return false, s.close()
	case columns < 4 && text[0] == '>':
		s.text = isPlain(text)
		return false, false
	case columns < 4 && interrupts(text):
		return true, s.open(line, ask)
	case s.text && (columns >= 4 || text[0] != '<' && listMarker(text).width == 0):
		return false, false // the paragraph continues
	}
	return s.unsure(line, ask)
}

func (s *scanner) inList(line []byte, columns int, text []byte, blank bool, ask func() last) (before, after bool) {
	if blank {
		s.text = false
		return false, false
	}
	m := listMarker(text)
	switch {
	case s.empty:
		return s.unsure(line, ask)
	case columns >= s.column:
		s.inItem(text, columns-s.column)
		return false, false
	case columns < 4 && isThematicBreak(text):
		return true, s.close()
	case columns < 4 && m.width > 0:
		s.item(columns, text, m)
		return false, false
	case s.blank, columns < 4 && interrupts(text):
		return true, s.open(line, ask)
	case s.text && (columns >= 4 || text[0] != '<'):
		return false, false // the paragraph continues
	}
	return s.unsure(line, ask)
}

// inItem processes a line of a list item's content. `columns` is the indent of the line within the
// item.
func (s *scanner) inItem(text []byte, columns int) {
	s.hidden = s.hidden || hidesFence(text) || bytes.IndexByte(text, '<') >= 0
	switch {
	case s.hidden:
		s.text = false
	case columns > 3:
		// The field `text` does not change: the line continues the paragraph or, after a blank
		// line, may be code.
	default:
		s.text = isPlain(text)
	}
}

// unsure processes a line that either continues a quote or list, or begins another block. It asks
// goldmark.
func (s *scanner) unsure(line []byte, ask func() last) (before, after bool) {
	now := s.ask(ask)
	if now.node == nil {
		s.kind = lost
		return false, false
	}
	if now.here {
		return true, s.open(line, func() last { return now })
	}
	_, isList := now.node.(*ast.List)
	_, isQuote := now.node.(*ast.Blockquote)
	if s.kind == list && !isList || s.kind == quote && !isQuote {
		s.kind = lost
		return false, false
	}
	s.goesOn(now.node)
	return false, false
}

// goesOn sets the state of a quote or list that continues, from the node that goldmark has
// returned.
func (s *scanner) goesOn(node ast.Node) {
	if s.kind == list {
		item := node.LastChild().(*ast.ListItem)
		s.column, s.empty, s.hidden = item.Offset, item.ChildCount() == 0, true
	}
	innermost := node
	for innermost.LastChild() != nil && innermost.LastChild().Type() == ast.TypeBlock {
		innermost = innermost.LastChild()
	}
	s.text = innermost.Kind() == ast.KindParagraph || innermost.Kind() == ast.KindTextBlock
}

func (s *scanner) ask(ask func() last) last {
	if s.asks >= maxAsks {
		return last{}
	}
	s.asks++
	return ask()
}

// holdsTogether reports whether the open block is of a kind inside which an event that is not text
// must wait.
func (s *scanner) holdsTogether() bool {
	switch s.kind {
	case list, fencedCode, indentedCode, lost:
		return true
	case quote:
		return !s.blank
	}
	return s.table
}

// htmlEnds are the strings that end an HTML block of a type that does not end with a blank line.
var htmlEnds = map[ast.HTMLBlockType][]string{
	ast.HTMLBlockType1: {"</script>", "</pre>", "</style>", "</textarea>"},
	ast.HTMLBlockType2: {"-->"},
	ast.HTMLBlockType3: {"?>"},
	ast.HTMLBlockType4: {">"},
	ast.HTMLBlockType5: {"]]>"},
}

// closesHTML reports whether the line ends an HTML block of that type.
func closesHTML(line []byte, typ ast.HTMLBlockType) bool {
	if typ >= ast.HTMLBlockType6 {
		return isBlank(line)
	}
	line = bytes.ToLower(line)
	for _, end := range htmlEnds[typ] {
		if bytes.Contains(line, []byte(end)) {
			return true
		}
	}
	return false
}
