package sqlite

import (
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sqlite/connection"
	"github.com/perdure/perdure/internal/store/storetest/invariants"
)

func do(t *testing.T, s *Store, id uuid.UUID, decide func(s *store.State) (*store.Changes, error)) error {
	t.Helper()
	_, err := s.Do(t.Context(), store.Command{Name: "test", Lane: store.LaneCommits, Org: "acme", Execution: id, Decide: decide})
	return err
}

// begin inserts an execution with the given input.
func begin(t *testing.T, s *Store, id uuid.UUID, input json.RawMessage) error {
	t.Helper()
	_, err := s.Do(t.Context(), store.Command{Name: "begin", Lane: store.LaneCommits, Org: "acme", Execution: id, Bytes: len(input), Decide: func(s *store.State) (*store.Changes, error) {
		return &store.Changes{Execution: &perdure.Execution{
			ID: id, Org: "acme", Kind: "k", Status: perdure.StatusPending, PersistenceMode: perdure.Remote, Queue: "q",
			Input: input, CreatedAt: s.Now, ReadyAt: s.Now,
		}}, nil
	}})
	return err
}

var errDisk = errors.New("the disk is gone")

// TestUnknownOutcome checks that after a failed COMMIT, whether the transaction is durable or not,
// all writes return unavailable and Fatal is called once. The reopened store must contain the
// confirmed writes.
func TestUnknownOutcome(t *testing.T) {
	for name, written := range map[string]bool{"the write is lost": false, "the write is there": true} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "perdure.db")
			var fatal atomic.Int32
			s, err := Open(t.Context(), Options{Path: path, Logger: slog.New(slog.DiscardHandler), Fatal: func(error) { fatal.Add(1) }})
			if err != nil {
				t.Fatal(err)
			}
			before, lost := uuid.New(), uuid.New()
			if err := begin(t, s, before, nil); err != nil {
				t.Fatal(err)
			}
			s.committer.commit = func(v connection.View) error {
				if written {
					if err := commitNow(v); err != nil {
						t.Error(err)
					}
				}
				return errDisk
			}
			for _, id := range []uuid.UUID{lost, uuid.New(), before} {
				if err := begin(t, s, id, nil); !perdure.IsCode(err, perdure.Unavailable) {
					t.Errorf("a write gives %v, want unavailable", err)
				}
			}
			if fatal.Load() != 1 {
				t.Errorf("Fatal was called %d times", fatal.Load())
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}

			again := open(t, Options{Path: path})
			if _, err := again.Execution(t.Context(), "acme", before); err != nil {
				t.Errorf("what was answered is gone: %v", err)
			}
			if _, err := again.Execution(t.Context(), "acme", lost); (err == nil) != written {
				t.Errorf("the write of unknown outcome gives %v", err)
			}
			invariants.Check(t, again)
		})
	}
}

// TestFullDisk checks that a write that exceeds the page limit returns unavailable. Earlier
// executions must remain readable, and writes must succeed when the limit is raised. Fatal must not
// be called.
func TestFullDisk(t *testing.T) {
	var fatal atomic.Int32
	s := open(t, Options{MaxPages: 400, Logger: slog.New(slog.DiscardHandler), Fatal: func(error) { fatal.Add(1) }})
	large := json.RawMessage(`"` + strings.Repeat("x", 200<<10) + `"`)
	var kept []uuid.UUID
	var err error
	for err == nil {
		id := uuid.New()
		if err = begin(t, s, id, large); err == nil {
			kept = append(kept, id)
		}
	}
	if !perdure.IsCode(err, perdure.Unavailable) || !strings.Contains(err.Error(), "disk is full") {
		t.Errorf("the write that does not fit gives %v", err)
	}
	if len(kept) == 0 {
		t.Fatal("nothing fitted")
	}
	for range 3 {
		if err := begin(t, s, uuid.New(), large); !perdure.IsCode(err, perdure.Unavailable) {
			t.Errorf("the next one gives %v", err)
		}
	}
	for _, id := range kept {
		if x, err := s.Execution(t.Context(), "acme", id); err != nil || len(x.Input) != len(large) {
			t.Errorf("an execution that was answered: %v", err)
		}
	}
	if _, err := s.committer.conn.With(t.Context()).Run("PRAGMA max_page_count = 100000"); err != nil {
		t.Fatal(err)
	}
	if err := begin(t, s, uuid.New(), large); err != nil {
		t.Errorf("with room again a write gives %v", err)
	}
	if fatal.Load() != 0 {
		t.Error("a full disk was taken for a broken one")
	}
	invariants.Check(t, s)
}

// TestNewerVersion checks that Open refuses a database that a newer program has written, with the
// code conflict and an explanation.
func TestNewerVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perdure.db")
	s, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (4711, 1)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), Options{Path: path})
	if !perdure.IsCode(err, perdure.Conflict) {
		t.Fatalf("a newer database gives %v, want conflict", err)
	}
	for _, part := range []string{"4711", "versions up to ", "upgrade"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
}

func TestDamageIsFoundAtTheStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perdure.db")
	s, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if err := begin(t, s, uuid.New(), json.RawMessage(`"`+strings.Repeat("x", 1000)+`"`)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 20 * 4096; i < 60*4096; i += 4096 {
		copy(raw[i:], strings.Repeat("\xff", 64))
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(t.Context(), Options{Path: path}); !perdure.IsCode(err, perdure.Internal) || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged file gives %v", err)
		if err == nil {
			s.Close()
		}
	}
}

func TestFileIsPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a ?#%20 .db")
	s := open(t, Options{Path: path})
	if err := begin(t, s, uuid.New(), nil); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, path + "-wal"} {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has the mode %o", filepath.Base(file), mode)
		}
	}
}

func TestCloseDrains(t *testing.T) {
	s := open(t, Options{})
	id := uuid.New()
	if err := begin(t, s, id, nil); err != nil {
		t.Fatal(err)
	}
	entered, leave, outcomes := make(chan struct{}), make(chan struct{}), make(chan error, 2)
	go func() {
		outcomes <- do(t, s, id, func(st *store.State) (*store.Changes, error) {
			close(entered)
			<-leave
			st.Execution.Version++
			return &store.Changes{Execution: st.Execution}, nil
		})
	}()
	<-entered
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	close(leave)
	if err := <-outcomes; err != nil {
		t.Errorf("a command that had begun: %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
}
