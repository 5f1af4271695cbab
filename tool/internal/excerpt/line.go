package excerpt

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode/utf8"
)

// LineBytes is the maximum number of bytes of a line that a model is shown. A longer line is cut.
const LineBytes = 2000

// ReadLine reads a line and returns at most its first limit bytes, without the line ending and as
// valid UTF-8. The result `left` is the number of bytes that were omitted. The error io.EOF means
// that there was no line.
func ReadLine(r *bufio.Reader, limit int) (line string, left int, err error) {
	var kept, piece []byte
	total := 0
	for {
		piece, err = r.ReadSlice('\n')
		total += len(piece)
		if room := limit + utf8.UTFMax - len(kept); room > 0 {
			kept = append(kept, piece[:min(room, len(piece))]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
	}
	if err != nil && (!errors.Is(err, io.EOF) || total == 0) {
		return "", 0, err
	}
	end := total - (len(piece) - len(bytes.TrimRight(piece, "\r\n")))
	if end < len(kept) {
		kept = kept[:end]
	}
	kept = Cut(kept, limit)
	return validText(kept), end - len(kept), nil
}

// validText returns p with a replacement character for each invalid byte.
func validText(p []byte) string {
	if utf8.Valid(p) {
		return string(p)
	}
	var s decoder
	return string(s.push(p)) + string(s.flush())
}

// Cut returns the longest prefix of p that has at most n bytes and does not end inside a
// character.
func Cut(p []byte, n int) []byte {
	if len(p) <= n {
		return p
	}
	for back := 0; back < utf8.UTFMax && n-back >= 0; back++ {
		if utf8.RuneStart(p[n-back]) {
			return p[:n-back]
		}
	}
	return p[:n]
}
