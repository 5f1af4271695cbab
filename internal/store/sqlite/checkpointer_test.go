package sqlite

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/disktest"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sqlite/connection"
	"github.com/perdure/perdure/internal/store/storetest/invariants"
)

// grow changes an execution whose row has several pages. That adds these pages to the log.
func grow(t *testing.T, s *Store, id uuid.UUID) {
	t.Helper()
	err := do(t, s, id, func(st *store.State) (*store.Changes, error) {
		st.Execution.Version++
		return &store.Changes{Execution: st.Execution}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestACrashDuringACheckpointLosesNothing checks that the committer continues during a checkpoint
// of the log. A crash in the middle of the checkpoint must lose no confirmed write.
func TestACrashDuringACheckpointLosesNothing(t *testing.T) {
	longtest.Skip(t, "seconds")
	folder := t.TempDir()
	d := disktest.New(t, folder)
	path := filepath.Join(folder, database)
	s := open(t, Options{Path: path})
	s.committer.checkpointAt = 64
	reached, goOn := d.StallAfterWrite(database)
	t.Cleanup(goOn)
	input := json.RawMessage(`"` + strings.Repeat("x", 3000) + `"`)
	var answered []uuid.UUID
	add := func() {
		id := uuid.New()
		if err := begin(t, s, id, input); err != nil {
			t.Fatal(err)
		}
		answered = append(answered, id)
	}
	for folding := false; !folding; {
		add()
		select {
		case <-reached:
			folding = true
		default:
		}
	}
	for range 100 {
		add()
	}
	crashed := filepath.Join(t.TempDir(), "perdure.db")
	for _, part := range []string{"", "-wal"} {
		if err := copyFile(path+part, crashed+part); err != nil {
			t.Fatal(err)
		}
	}
	goOn()
	again := open(t, Options{Path: crashed})
	for _, id := range answered {
		if x, err := again.Execution(t.Context(), "acme", id); err != nil || len(x.Input) != len(input) {
			t.Fatalf("after the crash, what was answered gives %v", err)
		}
	}
	invariants.Check(t, again)
	invariants.Check(t, s)
}

// TestTheLogIsResetWithoutAPause checks that the log is reset repeatedly while commits follow
// each other without a pause.
func TestTheLogIsResetWithoutAPause(t *testing.T) {
	longtest.Skip(t, "seconds")
	s := open(t, Options{})
	s.committer.checkpointAt = 64
	id := uuid.New()
	if err := begin(t, s, id, nil); err != nil {
		t.Fatal(err)
	}
	for anew, before, n := 0, 0, 0; anew < 10; n++ {
		if n == manyCommits {
			t.Fatalf("after %d commits, the log has been begun anew %d times", n, anew)
		}
		grow(t, s, id)
		held := s.committer.conn.LogPages()
		if held < before {
			anew++
		}
		before = held
	}
}

// manyCommits is the number of commits after which a test gives up waiting for a reset of the log.
const manyCommits = 100_000

// TestTheLogIsResetAfterALongRead checks that a long read sees the same rows all the time, while
// commits succeed and the log grows, and that the log is reset after the read.
func TestTheLogIsResetAfterALongRead(t *testing.T) {
	longtest.Skip(t, "seconds")
	s := open(t, Options{})
	const at = 64
	s.committer.checkpointAt = at
	id := uuid.New()
	if err := begin(t, s, id, nil); err != nil {
		t.Fatal(err)
	}
	reading, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- s.pool.Read(context.Background(), func(v connection.View) error {
			var before, after int
			_, err := v.One("SELECT sum(version) FROM agent_execution", nil, &before)
			close(reading)
			<-release
			if err == nil {
				_, err = v.One("SELECT sum(version) FROM agent_execution", nil, &after)
			}
			if before != after {
				t.Errorf("the reader's moment has changed from %d to %d", before, after)
			}
			return err
		})
	}()
	<-reading
	held := 0
	for before := -1; held > before && held < 8*at; held = s.committer.conn.LogPages() {
		before = held
		grow(t, s, id)
	}
	if held < 8*at {
		t.Errorf("the log was begun anew under a reader, at %d pages", held)
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for n := 0; s.committer.conn.LogPages() >= held; n++ {
		if n == manyCommits {
			t.Fatalf("after %d commits, the log has %d pages", n, held)
		}
		held = s.committer.conn.LogPages()
		grow(t, s, id)
	}
	invariants.Check(t, s)
}

// TestWhoCheckpointsTheLog checks, for sequences of commits, when the committer requests a pass of
// the checkpointer and when it checkpoints the remaining pages itself.
func TestWhoCheckpointsTheLog(t *testing.T) {
	const at = 800 // with this value, 200 pages count as few
	type commit struct {
		held         int
		idle         bool
		checkpointed int
		want         logStep
	}
	for name, commits := range map[string][]commit{
		"there is not enough to fold": {{10, true, 0, noCheckpoint}, {799, true, 0, noCheckpoint}},
		"a pass leaves little":        {{800, true, 0, checkpointBeside}, {850, false, 0, noCheckpoint}, {900, true, 800, checkpointHere}, {5, true, 800, noCheckpoint}},
		"a pass leaves much":          {{800, true, 0, checkpointBeside}, {1400, true, 800, checkpointBeside}, {1500, true, 1400, checkpointHere}},
		"a pass before the log was begun anew": {
			{800, true, 0, checkpointBeside}, {900, true, 850, checkpointHere}, {5, true, 850, noCheckpoint}, {810, true, 850, checkpointBeside}, {820, false, 850, noCheckpoint}, {830, true, 820, checkpointHere},
		},
		"a read is in the way":                  {{800, true, 0, checkpointBeside}, {810, true, 100, noCheckpoint}, {999, true, 100, noCheckpoint}, {1000, true, 100, checkpointBeside}, {1001, true, 110, noCheckpoint}},
		"a read keeps it from being begun anew": {{800, true, 0, checkpointBeside}, {810, true, 800, checkpointHere}, {811, true, 800, noCheckpoint}, {1009, true, 800, noCheckpoint}, {1010, true, 900, checkpointHere}},
		"passes cannot keep up":                 {{800, true, 0, checkpointBeside}, {3200, false, 0, noCheckpoint}, {3200, true, 800, checkpointHere}, {3201, true, 800, noCheckpoint}, {3400, true, 800, checkpointHere}},
	} {
		t.Run(name, func(t *testing.T) {
			var l logProgress
			for i, c := range commits {
				got := l.next(c.held, at, c.idle, c.checkpointed)
				if got != c.want {
					t.Fatalf("commit %d with %d pages held: %d, want %d", i, c.held, got, c.want)
				}
				if got == checkpointHere {
					l.checkpointed = c.held
				}
			}
		})
	}
}
