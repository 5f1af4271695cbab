package sqlite

import "time"

const (
	// hasteCommits commits within hasteTime count as frequent.
	hasteCommits = 32
	hasteTime    = time.Second
)

// haste detects frequent commits. Only then is the log extended ahead ([connection.Conn.GoAhead]):
// that makes each sync cheaper, but doubles the written data until the log is reset.
type haste struct {
	times [hasteCommits]time.Time // of the last commits, a ring buffer
	next  int
}

// commit records a commit, and reports whether commits are frequent.
func (h *haste) commit(now time.Time) bool {
	before := h.times[h.next]
	h.times[h.next] = now
	h.next = (h.next + 1) % hasteCommits
	return !before.IsZero() && now.Sub(before) < hasteTime
}
