package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/disktest"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/counttest"
	lib "modernc.org/sqlite/lib"
)

// TestPlainTurnsOffEverything checks that Plain turns off each optimization that can be turned off.
func TestPlainTurnsOffEverything(t *testing.T) {
	off := reflect.ValueOf(Options{Plain: true}.normal().without)
	for i := range off.NumField() {
		if !off.Field(i).Bool() {
			t.Errorf("%s is on", off.Type().Field(i).Name)
		}
	}
	if (Options{}).normal().without != (optimizations{}) {
		t.Error("something is off without Plain")
	}
}

// TestPlainCommandsAreTransactions checks that a plain store commits each of 40 waiting commands in
// a separate transaction, and that a normal store commits them in one.
func TestPlainCommandsAreTransactions(t *testing.T) {
	const n = 40
	for plain, want := range map[bool]int{true: n, false: 1} {
		got := counttest.Transactions(t, n, func(o *store.Observer) store.Store { return open(t, Options{Plain: plain, Observer: o}) })
		if got != want {
			t.Errorf("plain %t: %d commands were committed by %d transactions, want %d", plain, n, got, want)
		}
	}
}

// TestPlainCommandsReadTheirRows checks that each step and each task reads rows in a plain store,
// and none in a normal store, where the rows are cached.
func TestPlainCommandsReadTheirRows(t *testing.T) {
	for _, plain := range []bool{true, false} {
		s := open(t, Options{Plain: plain, without: optimizations{texts: true}})
		r := counttest.Claim(t, s)
		for what, one := range map[string]func(int){"step": r.Step, "task": r.Task} {
			one(0) // this call fills the caches
			before := selects(s)
			for i := range 5 {
				one(i + 1)
			}
			if got := selects(s) - before; plain && got < 5 || !plain && got != 0 {
				t.Errorf("plain %t: 5 of a %s read %d times", plain, what, got)
			}
		}
		if err := s.committer.audit(t.Context()); err != nil {
			t.Error(err)
		}
		if (s.committer.cache == nil) != plain {
			t.Errorf("plain %t: a cache is there: %t", plain, s.committer.cache != nil)
		}
	}
}

// selects returns how many SELECT statements the writing connection has run.
func selects(s *Store) (n int) {
	for words, runs := range s.written() {
		if strings.HasPrefix(words, "SELECT") {
			n += runs
		}
	}
	return n
}

// TestPlainWritesAreNotDeferred checks that only a normal store can defer writes.
func TestPlainWritesAreNotDeferred(t *testing.T) {
	for _, plain := range []bool{true, false} {
		s := open(t, Options{Plain: plain, laterFrom: 1})
		if err := begin(t, s, uuid.New(), nil); err != nil {
			t.Fatal(err)
		}
		if (s.committer.conn.Later == nil) != plain {
			t.Errorf("plain %t: writes may be deferred: %t", plain, s.committer.conn.Later != nil)
		}
	}
}

// TestAPlainLogIsWrittenBySQLite checks that a plain store writes each page of a commit with a
// separate call, and does not extend the log ahead of writes.
func TestAPlainLogIsWrittenBySQLite(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, plain := range []bool{true, false} {
		t.Run(fmt.Sprintf("plain %t", plain), func(t *testing.T) { logWritten(t, plain) })
	}
}

func logWritten(t *testing.T, plain bool) {
	folder := t.TempDir()
	d := disktest.New(t, folder)
	now := time.Now()
	s, err := Open(t.Context(), Options{
		Path: filepath.Join(folder, database), without: optimizations{texts: true}, Plain: plain, Clock: func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	s.committer.deciding.Lock()
	empty := s.committer.beginAnew(100)
	s.committer.deciding.Unlock()
	if !empty {
		t.Fatal("the log is not empty")
	}
	for range frequentCommits { // after this loop, commits count as frequent
		if err := begin(t, s, uuid.New(), nil); err != nil {
			t.Fatal(err)
		}
	}
	pages, writes := s.committer.conn.LogPages(), 0
	d.Before(func(op disktest.Op) int32 {
		if op.Kind == disktest.Write && op.File == database+"-wal" {
			writes++
		}
		return lib.SQLITE_OK
	})
	if err := begin(t, s, uuid.New(), make([]byte, 400<<10)); err != nil {
		t.Fatal(err)
	}
	d.Before(nil)
	pages = s.committer.conn.LogPages() - pages
	if pages < 100 || plain != (writes >= pages) {
		t.Errorf("%d pages were written with %d calls", pages, writes)
	}
	info, err := os.Stat(filepath.Join(folder, database+"-wal"))
	if err != nil {
		t.Fatal(err)
	}
	if used := s.committer.logBytes() + logHeader; plain != (info.Size() == used) {
		t.Errorf("the log has %d bytes of %d", info.Size(), used)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// logHeader is the size of the log's header in bytes.
const logHeader = 32

// TestAPlainLogIsFoldedByTheCommitter checks that the log of a plain store is reset, although no
// checkpointer runs.
func TestAPlainLogIsFoldedByTheCommitter(t *testing.T) {
	for _, plain := range []bool{true, false} {
		s := open(t, Options{Plain: plain})
		s.committer.checkpointAt = 64
		id := uuid.New()
		if err := begin(t, s, id, nil); err != nil {
			t.Fatal(err)
		}
		for anew, before, n := 0, 0, 0; anew < 3; n++ {
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
		idle, checkpointed := s.committer.checkpointer.rests()
		if beside := !idle || checkpointed > 0; beside == plain {
			t.Errorf("plain %t: passes are made beside the committer: %t", plain, beside)
		}
	}
}
