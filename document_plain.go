package perdure

import "encoding/binary"

const (
	everyByte = 0x0101010101010101
	highBits  = 0x80 * everyByte
)

// plainRun returns how many bytes at the beginning of text are plain, rounded down to a multiple of
// eight. Plain bytes are ASCII characters other than quotes, backslashes and control characters. Most
// of a large document is plain, and is skipped eight bytes at a time.
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

// special reports whether one of the eight bytes of w is not plain. It subtracts from all eight
// bytes at once. The high bit of a byte is then set if the byte is not plain. A borrow can also set
// the high bit of the next byte, but only a byte that is not plain borrows, so the result stays
// correct.
func special(w uint64) bool {
	quote, backslash := w^'"'*everyByte, w^'\\'*everyByte
	return (w|(w-' '*everyByte)|(quote-everyByte)|(backslash-everyByte))&highBits != 0
}
