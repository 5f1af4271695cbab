package sqlite

import (
	"testing"
	"time"
)

// TestManyCommitsInASecondAreFrequent checks that frequentCommits commits within a second count as
// frequent, and commits that are a second or more apart do not.
func TestManyCommitsInASecondAreFrequent(t *testing.T) {
	var h commitRate
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
	if n := commits(frequentCommits, time.Millisecond); n != 0 {
		t.Errorf("%d of the first %d commits count as frequent", n, frequentCommits)
	}
	if n := commits(10, time.Millisecond); n != 10 {
		t.Errorf("%d of 10 commits after many count as frequent", n)
	}
	if n := commits(1, time.Hour) + commits(frequentCommits-1, time.Second); n != 0 {
		t.Errorf("%d slow commits count as frequent", n)
	}
}
