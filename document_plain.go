package perdure

import "encoding/binary"

const (
	everyByte = 0x0101010101010101
	highBits  = 0x80 * everyByte
)

// plainRun returns how many bytes at the beginning of a string's text mean themselves,
// counted in eights: ASCII without quotes, backslashes and control characters. Most of
// a large document is such text.
func plainRun(text []byte) int {
	n := 0
	for len(text)-n >= 8 {
		if special(binary.LittleEndian.Uint64(text[n:])) {
			break
		}
		n += 8
	}
	return n
}

// special reports whether one of eight bytes is no plain one. A subtraction borrows from
// a byte only above one that is special itself, so a plain word never looks special.
func special(w uint64) bool {
	quote, backslash := w^'"'*everyByte, w^'\\'*everyByte
	return (w|(w-' '*everyByte)|(quote-everyByte)|(backslash-everyByte))&highBits != 0
}
