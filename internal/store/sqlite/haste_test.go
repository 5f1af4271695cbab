package sqlite

import (
	"os"
	"testing"
	"time"
)

// Commits are in haste once there have been many within a second, and no longer when
// they come slowly.
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

// What a slow commit writes to the log is its pages alone; the log of quick ones is
// longer than what was written.
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
