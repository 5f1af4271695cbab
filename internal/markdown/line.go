package markdown

import (
	"bytes"
	"strconv"
)

// isBlank reports whether a line contains only spaces and tabs (CommonMark, section 2.1). A
// no-break space is text.
func isBlank(line []byte) bool {
	return len(bytes.Trim(trimEnding(line), " \t")) == 0
}

// trimEnding removes the line ending, "\n" or "\r\n".
func trimEnding(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}

// hasOddSpace reports whether the line contains a control character that is a space in goldmark but
// not in CommonMark, or a line ending that goldmark does not recognize. The scanner cannot decide
// how blocks continue at such a line.
func hasOddSpace(line []byte) bool {
	return bytes.ContainsAny(trimEnding(line), "\v\f\r")
}

// indentOf returns the indent of a line in columns, and the text after the indent. `start` is the
// column at which the line begins. A tab extends to the next multiple of four columns.
func indentOf(line []byte, start int) (columns int, rest []byte) {
	at := start
	for i, c := range line {
		switch c {
		case ' ':
			at++
		case '\t':
			at += 4 - at%4
		default:
			return at - start, line[i:]
		}
	}
	return at - start, nil
}

// isThematicBreak reports whether the text, without its indent, is a thematic break.
func isThematicBreak(text []byte) bool {
	text = bytes.TrimRight(trimEnding(text), " \t")
	if len(text) == 0 || text[0] != '-' && text[0] != '*' && text[0] != '_' {
		return false
	}
	marks := bytes.Count(text, text[:1])
	return marks >= 3 && len(bytes.Trim(text, " \t"+string(text[0]))) == 0
}

// isATXHeading reports whether the text, without its indent, is a heading that begins with one to
// six "#".
func isATXHeading(text []byte) bool {
	text = trimEnding(text)
	n := len(text) - len(bytes.TrimLeft(text, "#"))
	return n >= 1 && n <= 6 && (n == len(text) || text[n] == ' ' || text[n] == '\t')
}

// isSetextUnderline reports whether the text, without its indent, turns the paragraph above it into
// a heading.
func isSetextUnderline(text []byte) bool {
	text = bytes.TrimRight(trimEnding(text), " \t")
	return len(text) > 0 && (text[0] == '=' || text[0] == '-') && len(bytes.Trim(text, string(text[0]))) == 0
}

// isTableDelimiter reports whether the line may be the delimiter row between the head of a table
// and its rows.
func isTableDelimiter(line []byte) bool {
	line = trimEnding(line)
	return bytes.IndexByte(line, '-') >= 0 && len(bytes.Trim(line, " \t|:-")) == 0
}

// openingFence returns the character and the length of the fence at the start of the text, which
// must have no indent. They are 0 if the text opens no fenced code block.
func openingFence(text []byte) (mark byte, length int) {
	mark, length = fenceOf(text)
	if length < 3 || mark == '`' && bytes.IndexByte(text[length:], '`') >= 0 {
		return 0, 0
	}
	return mark, length
}

// closesFence reports whether the text, which must have no indent, closes a fence of the given
// character and length.
func closesFence(text []byte, mark byte, length int) bool {
	got, n := fenceOf(text)
	return got == mark && n >= length && isBlank(text[n:])
}

// fenceOf returns the fence character with which the text begins, and how often it is repeated.
// Both are 0 if there is none.
func fenceOf(text []byte) (mark byte, length int) {
	if len(text) == 0 || text[0] != '`' && text[0] != '~' {
		return 0, 0
	}
	for length < len(text) && text[length] == text[0] {
		length++
	}
	return text[0], length
}

// marker describes the marker of a list item, such as "-" or "1.".
type marker struct {
	width int  // bytes, and columns, of the marker itself
	first bool // a bullet or the number 1, which may interrupt a paragraph
}

// listMarker returns the list marker at the start of the text, which must have no indent. If there
// is none, the marker's width is 0.
func listMarker(text []byte) marker {
	text = trimEnding(text)
	m := marker{}
	switch {
	case len(text) == 0:
		return m
	case text[0] == '-' || text[0] == '*' || text[0] == '+':
		m = marker{1, true}
	default:
		digits := len(text) - len(bytes.TrimLeft(text, "0123456789"))
		if digits == 0 || digits > 9 || digits == len(text) || text[digits] != '.' && text[digits] != ')' {
			return m
		}
		n, _ := strconv.Atoi(string(text[:digits]))
		m = marker{digits + 1, n == 1}
	}
	if m.width < len(text) && text[m.width] != ' ' && text[m.width] != '\t' {
		return marker{}
	}
	return m
}

// interrupts reports whether the text begins another block even if a paragraph is open. The text is
// a line without its indent of at most three columns. HTML blocks are not considered.
func interrupts(text []byte) bool {
	if _, fence := openingFence(text); fence > 0 {
		return true
	}
	if m := listMarker(text); m.first && !isBlank(text[m.width:]) {
		return true
	}
	return text[0] == '>' || isATXHeading(text) || isThematicBreak(text)
}

// isPlain reports whether the text can only be a line of a paragraph. The paragraph may be inside
// quotes and list items that begin in the text.
func isPlain(text []byte) bool {
	for {
		columns, rest := indentOf(text, 0)
		if columns > 3 || len(trimEnding(rest)) == 0 || isThematicBreak(rest) {
			return false
		}
		switch m := listMarker(rest); {
		case rest[0] == '>':
			text = rest[1:]
		case m.width > 0:
			text = rest[m.width:]
		default:
			return rest[0] != '<' && !isATXHeading(rest) && !isSetextUnderline(rest) && !hidesFence(rest)
		}
	}
}

// hidesFence reports whether the fence of a code block may begin in the text, inside quotes and
// list items.
func hidesFence(text []byte) bool {
	inner := bytes.TrimLeft(text, " \t>-+*0123456789.)")
	_, n := fenceOf(inner)
	return n >= 3
}
