package sqlite

import "time"

const (
	// frequentCommits is a number of commits. Commits are frequent if that many happen within
	// frequentTime.
	frequentCommits = 32
	frequentTime    = time.Second
)

// commitRate detects frequent commits. Only then is the log file extended ahead of writes
// ([connection.Conn.GoAhead]): that makes each sync cheaper, but doubles the written data until the
// log is reset.
type commitRate struct {
	times [frequentCommits]time.Time // times of the last commits, a ring buffer
	next  int
}

// commit records a commit, and reports whether commits are frequent.
func (h *commitRate) commit(now time.Time) bool {
	before := h.times[h.next]
	h.times[h.next] = now
	h.next = (h.next + 1) % frequentCommits
	return !before.IsZero() && now.Sub(before) < frequentTime
}
