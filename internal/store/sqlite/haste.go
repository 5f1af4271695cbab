package sqlite

import "time"

const (
	// hasteCommits within hasteTime are many.
	hasteCommits = 32
	hasteTime    = time.Second
)

// haste knows whether commits follow each other quickly. Only then is the log made
// longer ahead ([gathered.lengthen]): it makes each sync cheaper, and doubles what is
// written until the log is started again.
type haste struct {
	times [hasteCommits]time.Time // of the last commits, a ring
	next  int
}

// commit takes in one, and reports whether there have been many of late.
func (h *haste) commit(now time.Time) bool {
	before := h.times[h.next]
	h.times[h.next] = now
	h.next = (h.next + 1) % hasteCommits
	return !before.IsZero() && now.Sub(before) < hasteTime
}
