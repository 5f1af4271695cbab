package board_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/engine/board"
)

// TestOpenPollsCountAsSeen checks that a worker with an open poll counts as seen.
func TestOpenPollsCountAsSeen(t *testing.T) {
	var workers board.Workers
	worker := uuid.New()
	over := workers.Polling("org", worker)
	for range 2 {
		if got := workers.Take(); len(got["org"]) != 1 {
			t.Errorf("seen with an open poll: %v", got)
		}
	}
	over()
	workers.Take()
	if got := workers.Take(); len(got) > 0 {
		t.Errorf("seen without a poll: %v", got)
	}
}
