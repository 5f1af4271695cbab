package markdown

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// cuts says where blocks end that nothing which follows can change, each place
// counted from the one before. Blocks are decided line by line, so one that is
// closed stays as it is.
func cuts(source []byte) []int {
	all := blocks(source)
	var lengths []int
	done := 0
	cutAt := func(at int) {
		lengths = append(lengths, at-done)
		done = at
	}
	for i := 1; i < len(all); i++ {
		// After what may be a link's definition, what now looks like a paragraph
		// may turn out to be the definition's title.
		if at := lineStart(source, all[i].Pos()); at > done && !defines(source[done:at]) {
			cutAt(at)
		}
	}
	if len(all) > 0 && closed(all[len(all)-1], source) {
		cutAt(len(source))
	}
	return lengths
}

// closed tells whether the last block takes nothing more.
func closed(n ast.Node, source []byte) bool {
	switch block := n.(type) {
	case *ast.Heading, *ast.ThematicBreak:
		return true
	case *ast.Paragraph, *east.Table, *ast.Blockquote:
		return endsBlank(source) && !unmatched(source[max(lineStart(source, n.Pos()), 0):])
	case *ast.HTMLBlock:
		return block.HTMLBlockType >= ast.HTMLBlockType6 && endsBlank(source)
	case *ast.FencedCodeBlock:
		return fenceClosed(block, source)
	}
	return false // a list or indented code goes on after blank lines
}

// endsBlank tells whether the last line is blank.
func endsBlank(source []byte) bool {
	return len(bytes.TrimSpace(lastLine(source))) == 0
}

func lastLine(source []byte) []byte {
	return source[lineStart(source, len(source)-1):]
}

// lineStart is where the line begins that holds the byte at pos.
func lineStart(source []byte, pos int) int {
	if pos <= 0 {
		return 0
	}
	return bytes.LastIndexByte(source[:pos], '\n') + 1
}

// defines tells whether the lines right before the end may be a link's
// definition.
func defines(before []byte) bool {
	for len(before) > 0 {
		line := lastLine(before)
		text := bytes.TrimLeft(line, " ")
		if len(bytes.TrimSpace(text)) == 0 {
			return false
		}
		if text[0] == '[' && len(line)-len(text) < 4 {
			return true
		}
		before = before[:len(before)-len(line)]
	}
	return false
}

// fenceClosed tells whether the block's closing fence has come: a line of the
// same character, at least as long as the opening one, and nothing else.
func fenceClosed(block *ast.FencedCodeBlock, source []byte) bool {
	at := lineStart(source, block.Pos())
	opening, rest := splitLine(source[at:])
	mark, length := fenceOf(opening)
	for range block.Lines().Len() {
		_, rest = splitLine(rest)
	}
	closing, _ := splitLine(rest)
	got, n := fenceOf(closing)
	return got == mark && n >= length && n > 0 && len(bytes.TrimSpace(closing)) == n
}

func splitLine(source []byte) (line, rest []byte) {
	if i := bytes.IndexByte(source, '\n'); i >= 0 {
		return source[:i+1], source[i+1:]
	}
	return source, nil
}

// fenceOf gives the character of a fence and how often it stands there.
func fenceOf(line []byte) (mark byte, length int) {
	line = bytes.TrimLeft(line, " ")
	if len(line) == 0 || line[0] != '`' && line[0] != '~' {
		return 0, 0
	}
	for length < len(line) && line[length] == line[0] {
		length++
	}
	return line[0], length
}
