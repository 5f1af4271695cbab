package tool

import (
	"fmt"
	"unicode/utf8"
)

// keep holds the head and the tail of a long text, in bounded memory. Memory is
// at most twice the limit.
type keep struct {
	limit int // bytes that are kept: half at the head, the rest at the tail
	total int
	head  []byte
	tail  []byte
}

// Write takes valid UTF-8 in any cut between bytes. It never fails.
func (k *keep) Write(p []byte) (int, error) {
	k.total += len(p)
	rest := p
	if room := k.limit/2 - len(k.head); room > 0 {
		n := min(room, len(p))
		k.head = append(k.head, p[:n]...)
		rest = p[n:]
	}
	k.tail = append(k.tail, rest...)
	if over := len(k.tail) - k.tailLimit(); over > k.limit {
		k.tail = append(k.tail[:0], k.tail[over:]...)
	}
	return len(p), nil
}

func (k *keep) tailLimit() int { return k.limit - k.limit/2 }

// String is all of the text if it has at most limit bytes, else its head, a mark
// that says how many bytes are left out, and its tail.
func (k *keep) String() string {
	if k.total <= k.limit {
		return string(k.head) + string(k.tail)
	}
	head := wholeRunes(k.head)
	tail := k.tail[len(k.tail)-k.tailLimit():]
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return fmt.Sprintf("%s\n[... %d bytes left out ...]\n%s", head, k.total-len(head)-len(tail), tail)
}

// wholeRunes cuts off an unfinished character at the end.
func wholeRunes(p []byte) []byte {
	for i := len(p) - 1; i >= 0 && i >= len(p)-utf8.UTFMax; i-- {
		if utf8.RuneStart(p[i]) {
			if utf8.FullRune(p[i:]) {
				return p
			}
			return p[:i]
		}
	}
	return p
}
