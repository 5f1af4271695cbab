package live

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/rules"
)

// TestLiveIsThereOnceItIsDurable checks that Settled returns when a write has ended, and that the
// content of the write can then be read. If the context of Settled is cancelled during the write,
// Settled returns the context's error.
func TestLiveIsThereOnceItIsDurable(t *testing.T) {
	var l Contents
	id := uuid.New()
	over := l.Writing(id)
	waited := make(chan error, 1)
	go func() { waited <- l.Settled(context.WithoutCancel(t.Context()), id) }()
	over([]rules.LiveContent{{Pos: 3, Content: []byte("x")}})
	if err := <-waited; err != nil {
		t.Fatal(err)
	}
	if got, ok := l.Get(id, 3); !ok || string(got) != "x" {
		t.Errorf("it has %q, %v", got, ok)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	defer l.Writing(id)(nil)
	if err := l.Settled(gone, id); !errors.Is(err, context.Canceled) {
		t.Errorf("a reader that has left is answered %v", err)
	}
}

// TestLiveIsBounded checks that the content in memory is limited, in total and for each execution.
// The oldest content is removed first. No data remains for an execution whose contents were all
// removed.
func TestLiveIsBounded(t *testing.T) {
	l := Contents{Total: 10 * (liveOverhead + 1), Each: 4 * (liveOverhead + 1)}
	ids := []uuid.UUID{{1}, {2}, {3}, {4}}
	for _, id := range ids {
		for pos := range int64(6) {
			l.Writing(id)([]rules.LiveContent{{Pos: pos, Content: []byte("x")}})
		}
	}
	have := map[uuid.UUID]int{}
	for _, id := range ids {
		for pos := range int64(6) {
			if _, ok := l.Get(id, pos); ok {
				have[id]++
				if pos < 2 {
					t.Errorf("pos %d outlived a newer one", pos)
				}
			}
		}
	}
	if have[ids[0]] != 0 || have[ids[1]] != 2 || have[ids[2]] != 4 || have[ids[3]] != 4 || l.bytes > l.Total || len(l.logs) != 3 {
		t.Errorf("held are %v, %d bytes, of %d executions", have, l.bytes, len(l.logs))
	}
}
