package excerpt

import (
	"fmt"
	"unicode/utf8"
)

// ends collects a long text, but stores only its head and its tail. It uses at most twice as much memory as
// its limit.
type ends struct {
	limit int // maximum number of bytes that are kept: half from the head, half from the tail
	total int
	head  []byte
	tail  []byte
}

// Write adds text, which is valid UTF-8 as a whole, but may be split between any two bytes. It never
// returns an error.
func (k *ends) Write(p []byte) (int, error) {
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

func (k *ends) tailLimit() int { return k.limit - k.limit/2 }

// String returns the whole text if its length is within the limit. Otherwise it returns the head, a
// note with the number of omitted bytes, and the tail.
func (k *ends) String() string {
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

// wholeRunes returns p without an unfinished character at the end.
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
