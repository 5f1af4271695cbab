package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/disktest"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sqlite/connection"
	lib "modernc.org/sqlite/lib"
)

// TestFullLogFailsTheBatchAlone checks that a command fails while the log cannot be written. Earlier
// and later commands must not be affected.
func TestFullLogFailsTheBatchAlone(t *testing.T) {
	folder := t.TempDir()
	d := disktest.New(t, folder)
	s := open(t, Options{Path: filepath.Join(folder, database)})
	first, second := uuid.New(), uuid.New()
	if err := begin(t, s, first, nil); err != nil {
		t.Fatal(err)
	}
	d.Before(func(op disktest.Op) int32 {
		if op.Kind == disktest.Write && op.File == database+"-wal" {
			return lib.SQLITE_FULL
		}
		return lib.SQLITE_OK
	})
	if err := begin(t, s, second, nil); err == nil {
		t.Error("a command is done without a log")
	}
	d.Before(nil)
	for _, id := range []uuid.UUID{first, second} {
		err := do(t, s, id, func(st *store.State) (*store.Changes, error) {
			if (st.Execution != nil) != (id == first) {
				return nil, fmt.Errorf("there is %v", st.Execution)
			}
			return nil, nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if err := begin(t, s, second, nil); err != nil {
		t.Errorf("after that: %v", err)
	}
}

// TestARollbackOfTheCommitterWritesNothing checks that a rollback of the committer drops the pages
// that the log layer has collected for SQLite's write-ahead log, and writes none of them.
func TestARollbackOfTheCommitterWritesNothing(t *testing.T) {
	folder := t.TempDir()
	d := disktest.New(t, folder)
	s := open(t, Options{Path: filepath.Join(folder, database)})
	s.committer.deciding.Lock()
	defer s.committer.deciding.Unlock()
	v := s.committer.conn.With(t.Context())
	must(t, v, "BEGIN IMMEDIATE")
	must(t, v, "CREATE TABLE page (id INTEGER PRIMARY KEY, content BLOB)")
	writes := 0
	d.Before(func(op disktest.Op) int32 {
		if op.Kind == disktest.Write && op.File == database+"-wal" {
			writes++
		}
		return lib.SQLITE_OK
	})
	// This statement inserts more rows than fit into SQLite's cache.
	must(t, v, "INSERT INTO page (content) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT randomblob(3000) FROM n", 1200)
	if writes == 0 {
		t.Fatal("nothing was written to the log")
	}
	writes = 0
	if err := s.committer.rollback(v); err != nil {
		t.Fatal(err)
	}
	if writes != 0 {
		t.Errorf("%d writes were made of what was given up", writes)
	}
	d.Before(nil)
}

func must(t *testing.T, v connection.View, query string, args ...any) {
	t.Helper()
	if _, err := v.Run(query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}
