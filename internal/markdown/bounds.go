package markdown

import (
	"bytes"
	"errors"

	"github.com/yuin/goldmark/ast"
)

// These are the limits of rendering. A block that exceeds one of them is shown as escaped source.
// The length of the output is checked while it is written. Every other limit is checked before the
// work that it limits.
const (
	// cellsPerByte is the maximum number of cells of a table per byte of its source. A row with
	// fewer cells than the head is filled up with empty cells.
	cellsPerByte = 20
	// leastCell is the length of the HTML of an empty cell: "<td></td>\n".
	leastCell = 10
	// maxNesting is the maximum nesting of quotes, list items, emphasis and links.
	maxNesting = 32
	// openNesting is the maximum of the nesting that is estimated before the parse. It is more than
	// maxNesting, because the estimate can be too high.
	openNesting = 2 * maxNesting
	// maxOpenLines is the maximum of the number of lines times the nesting, because the parser
	// compares every line with every open block.
	maxOpenLines = 1 << 20
	// maxDelimiters is the maximum number of runs of "*", "_" and "~" in a paragraph or cell,
	// because the parser compares each run with the earlier ones.
	maxDelimiters = 4 << 10
	// maxEscapedPipes is the maximum number of escaped pipes in a text with backticks, because the
	// parser compares each such pipe in a table with all others.
	maxEscapedPipes = 1 << 10
	// maxBracketWork limits the work of finding the ends of links in a paragraph or cell. The work
	// is the number of comparisons of closing brackets with open brackets, and the number of bytes
	// that are read to find the ends of link destinations.
	maxBracketWork = 4 << 20
)

// outputLimit returns the maximum size of the HTML of a block whose source has `source` bytes.
func outputLimit(source int) int { return 32*source + 64<<10 }

// exceedsText reports whether the text exceeds the limits on nesting and tables. It does not parse
// the text.
func exceedsText(source []byte) bool {
	return exceedsNesting(source) || exceedsTables(source)
}

// exceedsNesting estimates the nesting of blocks from the markers at the start of lines. It reports
// whether the nesting is too deep for the parser.
func exceedsNesting(source []byte) bool {
	var items []int // the columns at which the content of open list items begins
	deepest, lines := 1, 0
	for line := range bytes.Lines(source) {
		lines++
		if isBlank(line) {
			continue
		}
		var depth int
		items, depth = openItems(items, line)
		if deepest = max(deepest, depth); deepest > openNesting {
			return true
		}
	}
	return deepest*lines > maxOpenLines
}

// openItems returns the list items that are open after a line, and the number of list items and
// quotes in which the line is nested. `items` are the list items that were open before the line.
// Each is represented by the column at which its content begins.
func openItems(items []int, line []byte) ([]int, int) {
	quotes, column := 0, 0
	for {
		columns, rest := indentOf(line, column)
		column += columns
		m := marker{}
		if len(rest) > 0 && rest[0] == '>' {
			quotes++
			m.width = 1
		} else if m = listMarker(rest); m.width > 0 {
			for len(items) > 0 && items[len(items)-1] > column {
				items = items[:len(items)-1]
			}
			items = append(items, column+m.width+1)
		}
		if m.width == 0 || quotes+len(items) > openNesting {
			return items, quotes + len(items)
		}
		line, column = rest[m.width:], column+m.width
	}
}

// exceedsTables reports whether a possible table has too many cells for the length of its source,
// or the text has too many escaped pipes.
func exceedsTables(source []byte) bool {
	if bytes.Count(source, []byte(`\|`)) > maxEscapedPipes && bytes.IndexByte(source, '`') >= 0 {
		return true
	}
	for len(source) > 0 {
		var lines [][]byte
		for len(source) > 0 {
			line, rest := splitLine(source)
			source = rest
			if isBlank(line) {
				break
			}
			lines = append(lines, line)
		}
		if exceedsTable(lines) {
			return true
		}
	}
	return false
}

// exceedsTable reports whether a possible table in these consecutive lines, none of them blank, has
// too many cells for the length of its source.
func exceedsTable(lines [][]byte) bool {
	length := 0
	for i := len(lines) - 1; i >= 1; i-- {
		length += len(lines[i])
		delimiter := bytes.TrimLeft(lines[i], " \t>")
		if !isTableDelimiter(delimiter) {
			continue
		}
		rows, size := len(lines)-i, length+len(lines[i-1])
		cells := rows * columnsOf(delimiter)
		if cells > cellsPerByte*size || cells*leastCell > outputLimit(size) {
			return true
		}
	}
	return false
}

// columnsOf returns the number of columns in the delimiter row of a table.
func columnsOf(delimiter []byte) int {
	delimiter = bytes.Trim(delimiter, " \t\r\n")
	delimiter = bytes.TrimPrefix(bytes.TrimSuffix(delimiter, []byte("|")), []byte("|"))
	return bytes.Count(delimiter, []byte("|")) + 1
}

func splitLine(source []byte) (line, rest []byte) {
	if i := bytes.IndexByte(source, '\n'); i >= 0 {
		return source[:i+1], source[i+1:]
	}
	return source, nil
}

// exceedsInlines reports whether a paragraph, heading or cell exceeds the limits on nesting, or on
// syntax that the parser handles in quadratic time.
func exceedsInlines(doc ast.Node, source []byte) bool {
	return exceedsDepth(doc) || anyNode(doc, func(n ast.Node) bool {
		if n.Type() != ast.TypeBlock || n.IsRaw() || n.Lines().Len() == 0 {
			return false
		}
		return exceedsLeaf(n.Lines().Value(source))
	})
}

func exceedsLeaf(text []byte) bool {
	return delimiterRuns(text) > maxDelimiters || bracketWork(text) > maxBracketWork || destinationWork(text) > maxBracketWork
}

// delimiterRuns returns the number of runs of "*", "_" and "~" that may begin or end emphasis.
func delimiterRuns(text []byte) int {
	runs := 0
	for i := 0; i < len(text); {
		c, from := text[i], i
		for i < len(text) && text[i] == c {
			i++
		}
		inWord := from > 0 && isWord(text[from-1]) && i < len(text) && isWord(text[i])
		if c == '*' || c == '~' || c == '_' && !inWord {
			runs++
		}
	}
	return runs
}

func isWord(c byte) bool { return isLetter(c) || '0' <= c && c <= '9' || c >= 0x80 }

// bracketWork returns the number of comparisons of closing brackets with open brackets.
func bracketWork(text []byte) int {
	open, work := 0, 0
	for _, c := range text {
		switch {
		case c == '[':
			open++
		case c == ']' && open > 0:
			work += open
			open--
		}
	}
	return work
}

// destinationWork returns an upper bound of the number of bytes that are read to find the ends of
// link destinations. A destination ends at white space or, if it begins with "<", at the latest at
// the end of the line.
func destinationWork(text []byte) int {
	words, lines := bytes.Count(text, []byte("](")), bytes.Count(text, []byte("](<"))
	return words*longest(text, " \t\n") + lines*longest(text, "\n")
}

// longest returns the length of the longest part of the text that contains none of the separators.
func longest(text []byte, separators string) int {
	most := 0
	for len(text) > 0 {
		n := bytes.IndexAny(text, separators)
		if n < 0 {
			n = len(text) - 1
		}
		most, text = max(most, n+1), text[n+1:]
	}
	return most
}

var errFound = errors.New("found")

func anyNode(doc ast.Node, is func(ast.Node) bool) bool {
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering && is(n) {
			return ast.WalkStop, errFound
		}
		return ast.WalkContinue, nil
	})
	return err != nil
}

// exceedsDepth reports whether quotes, list items, emphasis and links are nested too deeply.
func exceedsDepth(doc ast.Node) bool {
	depth := 0
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !isLevel(n) {
			return ast.WalkContinue, nil
		}
		if !entering {
			depth--
			return ast.WalkContinue, nil
		}
		if depth++; depth > maxNesting {
			return ast.WalkStop, errFound
		}
		return ast.WalkContinue, nil
	})
	return err != nil
}

// linked returns the total length of the destinations and titles of links in the output. A link
// definition is written once in the source, but its destination is in the output at each use.
func linked(doc ast.Node) int {
	sum := 0
	anyNode(doc, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Link:
			sum += len(n.Destination) + len(n.Title)
		case *ast.Image:
			sum += len(n.Destination) + len(n.Title)
		}
		return false
	})
	return sum
}

func isLevel(n ast.Node) bool {
	switch n.Kind() {
	case ast.KindDocument, ast.KindList, ast.KindTextBlock, ast.KindParagraph:
		return false
	case ast.KindBlockquote, ast.KindListItem:
		return true
	}
	return n.Type() == ast.TypeInline && n.HasChildren()
}

// limitedBuffer is a buffer whose Write fails if the content would exceed a limit of bytes.
type limitedBuffer struct {
	bytes.Buffer
	limit int
}

var errTooLong = errors.New("the output is too long")

// Write implements io.Writer.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.limit {
		return 0, errTooLong
	}
	return b.Buffer.Write(p)
}
