package sqlite

import (
	"testing"
	"time"
)

// TestHasteIsManyCommitsInASecond checks that commits count as frequent after hasteCommits of them
// within a second, and not when they are a second or more apart.
func TestHasteIsManyCommitsInASecond(t *testing.T) {
	var h haste
	now := time.Unix(1000, 0)
	commits := func(n int, apart time.Duration) (hasty int) {
		for range n {
			now = now.Add(apart)
			if h.commit(now) {
				hasty++
			}
		}
		return hasty
	}
	if n := commits(hasteCommits, time.Millisecond); n != 0 {
		t.Errorf("%d of the first %d commits are in haste", n, hasteCommits)
	}
	if n := commits(10, time.Millisecond); n != 10 {
		t.Errorf("%d of 10 commits after many are in haste", n)
	}
	if n := commits(1, time.Hour) + commits(hasteCommits-1, time.Second); n != 0 {
		t.Errorf("%d slow commits are in haste", n)
	}
}
