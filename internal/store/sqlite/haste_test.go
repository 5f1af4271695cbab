package sqlite

import (
	"os"
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

// TestOnlyQuickCommitsMakeTheLogLonger checks that goAhead(false) makes a commit extend the log
// only by its own data, and that goAhead(true) makes it extend the log ahead.
func TestOnlyQuickCommitsMakeTheLogLonger(t *testing.T) {
	path, v := writer(t)
	size := func() int64 {
		t.Helper()
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	counting(t, v.conn)
	v.conn.goAhead(false)
	before := size()
	must(t, v, fill, 30)
	if written := int64(logCalls.bytes); size()-before != written {
		t.Errorf("the log grew by %d bytes for %d that were written", size()-before, written)
	}
	v.conn.goAhead(true)
	before, logCalls.bytes = size(), 0
	must(t, v, fill, 1)
	if grown := size() - before; grown < logAhead {
		t.Errorf("the log of a quick commit grew by %d bytes, less than %d", grown, logAhead)
	}
}
