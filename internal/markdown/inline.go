package markdown

import "bytes"

// unmatched reports whether the text has an open code span or open strong emphasis. The rendering
// of such a text would change when more text arrives. Because unmatched only counts delimiters, it
// may return true for a text without open formatting.
func unmatched(source []byte) bool {
	outside, open := outsideCode(source)
	return open || bytes.Count(outside, []byte("**"))%2 == 1
}

// outsideCode returns the text without its code spans, and reports whether a code span is open.
func outsideCode(source []byte) (outside []byte, open bool) {
	for len(source) > 0 {
		i := bytes.IndexAny(source, "`\\")
		if i < 0 {
			return append(outside, source...), false
		}
		outside, source = append(outside, source[:i]...), source[i:]
		if source[0] == '\\' {
			source = source[min(2, len(source)):]
			continue
		}
		_, n := fenceOf(source)
		after := closing(source[n:], n)
		if after < 0 {
			return append(outside, source[n:]...), true
		}
		source = source[n+after:]
	}
	return outside, false
}

// closing returns the offset after the first run of exactly n backticks in the text; -1 if there is
// none. Such a run closes a code span that n backticks opened.
func closing(source []byte, n int) int {
	for at := 0; ; {
		i := bytes.IndexByte(source[at:], '`')
		if i < 0 {
			return -1
		}
		at += i
		_, run := fenceOf(source[at:])
		at += run
		if run == n {
			return at
		}
	}
}
