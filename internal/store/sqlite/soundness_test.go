package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/pagecheck"
)

// stored creates a store of about 1,500 pages and closes it cleanly. It returns the path of the
// store and the id of the first execution.
func stored(t *testing.T) (path string, first uuid.UUID) { t.Helper(); return storedRows(t, 300) }

func storedRows(t *testing.T, rows int) (path string, first uuid.UUID) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "perdure.db")
	s, err := Open(t.Context(), Options{Path: path, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		id := uuid.New()
		if i == 0 {
			first = id
		}
		if err := begin(t, s, id, json.RawMessage(`"`+strings.Repeat("x", 20_000)+`"`)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path, first
}

// spoil overwrites a leaf page in the middle of a table or an index. The returned function restores
// the page.
func spoil(t *testing.T, path, name string) (mend func()) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	var page int64
	err = db.QueryRow(`SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path
		LIMIT 1 OFFSET (SELECT count(*) / 2 FROM dbstat WHERE name = ? AND pagetype = 'leaf')`, name, name).Scan(&page)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	old := make([]byte, 4096)
	file(t, path, func(f *os.File) error { _, err := f.ReadAt(old, (page-1)*4096); return err })
	put := func(content []byte) {
		file(t, path, func(f *os.File) error { _, err := f.WriteAt(content, (page-1)*4096); return err })
	}
	put([]byte(strings.Repeat("garbage ", 512)))
	return func() { put(old) }
}

func file(t *testing.T, path string, do func(f *os.File) error) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := do(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func wantMark(t *testing.T, path string, want pagecheck.State) {
	t.Helper()
	if got, err := pagecheck.MarkOf(path).Read(); got != want || err != nil {
		t.Errorf("the mark says %v, %v, want %v", got, err, want)
	}
}

// opened opens a store and starts its background check. The check pauses before its second piece
// until goOn is called.
func opened(t *testing.T, path string, fatal func(error)) (s *Store, goOn func()) {
	t.Helper()
	gate := make(chan struct{})
	s, err := Open(t.Context(), Options{
		Path: path, Logger: slog.New(slog.DiscardHandler), Fatal: fatal, CheckBeside: true,
		pause: func(ctx context.Context, _ time.Duration) error {
			select {
			case <-gate:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.CheckBeside()
	return s, func() { close(gate) }
}

// TestAnOrderlyEndNeedsNoCheck checks that a cleanly closed store with a damaged page is opened
// without a check of the whole file. While a store is open, its mark file must have the state Open.
func TestAnOrderlyEndNeedsNoCheck(t *testing.T) {
	longtest.Skip(t, "seconds")
	path, _ := stored(t)
	wantMark(t, path, pagecheck.Checked)
	mend := spoil(t, path, "agent_execution")
	s, _ := opened(t, path, func(err error) { t.Error(err) })
	if _, unchecked := s.Unchecked(); unchecked {
		t.Error("it is unchecked")
	}
	wantMark(t, path, pagecheck.Open)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantMark(t, path, pagecheck.Checked)
	mend()
	open(t, Options{Path: path})
}

// TestDamageIsFoundBeside checks that a store that was not closed cleanly can be read before its
// background check is complete. If the check finds damage, writes must fail, but reads must not.
// The next starts must fail until the page is repaired.
func TestDamageIsFoundBeside(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, name := range []string{"agent_execution", "sqlite_autoindex_agent_execution_1"} {
		t.Run(name, func(t *testing.T) {
			path, _ := stored(t)
			if err := pagecheck.MarkOf(path).Write(pagecheck.Open); err != nil {
				t.Fatal(err)
			}
			mend := spoil(t, path, name)
			if s, err := Open(t.Context(), Options{Path: path}); !perdure.IsCode(err, perdure.Internal) || !strings.Contains(err.Error(), damageText) {
				t.Errorf("who waits for the check gets %v", err)
				if err == nil {
					s.Close()
				}
			}
			found := make(chan error, 2)
			s, goOn := opened(t, path, func(err error) { found <- err })
			if _, unchecked := s.Unchecked(); !unchecked {
				t.Error("it is not unchecked")
			}
			if _, err := s.AnyKey(t.Context()); err != nil {
				t.Errorf("a read before the check gives %v", err)
			}
			goOn()
			if err := <-found; !perdure.IsCode(err, perdure.Internal) || !strings.Contains(err.Error(), damageText) || !strings.Contains(err.Error(), "page ") {
				t.Errorf("the check finds %v", err)
			}
			if err := begin(t, s, uuid.New(), nil); !perdure.IsCode(err, perdure.Unavailable) {
				t.Errorf("a write after that gives %v", err)
			}
			if _, err := s.AnyKey(t.Context()); err != nil {
				t.Errorf("a read after that gives %v", err)
			}
			if !perdure.IsCode(s.Failed(), perdure.Internal) {
				t.Errorf("the store has failed for %v", s.Failed())
			}
			if err := s.Close(); err != nil || len(found) > 0 {
				t.Errorf("closing gives %v, and Fatal was called %d times more", err, len(found))
			}
			wantMark(t, path, pagecheck.Damaged)
			for range 2 {
				if s, err := Open(t.Context(), Options{Path: path, CheckBeside: true}); !perdure.IsCode(err, perdure.Internal) {
					t.Errorf("the next start gives %v", err)
					if err == nil {
						s.Close()
					}
				}
			}
			mend()
			again := open(t, Options{Path: path, CheckBeside: true})
			if _, unchecked := again.Unchecked(); unchecked {
				t.Error("the store that was mended is unchecked, though the start has checked it")
			}
		})
	}
}

// TestACheckThatIsCutOffIsMadeAgain checks that a store whose check was interrupted by Close
// remains marked as unchecked, and that the next start repeats the check. A completed check must
// mark the file as checked.
func TestACheckThatIsCutOffIsMadeAgain(t *testing.T) {
	longtest.Skip(t, "seconds")
	path, first := stored(t)
	if err := pagecheck.MarkOf(path).Write(pagecheck.Open); err != nil {
		t.Fatal(err)
	}
	fatal := func(err error) { t.Error(err) }
	for range 2 {
		s, _ := opened(t, path, fatal)
		// A kill at this moment would leave this state in the mark file.
		wantMark(t, path, pagecheck.Unchecked)
		if err := begin(t, s, uuid.New(), nil); err != nil {
			t.Errorf("a write beside the check gives %v", err)
		}
		if _, err := s.Execution(t.Context(), "acme", first); err != nil {
			t.Errorf("a read beside the check gives %v", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		wantMark(t, path, pagecheck.Unchecked)
	}
	s, goOn := opened(t, path, fatal)
	goOn()
	<-s.soundness.ended
	if progress, unchecked := s.Unchecked(); unchecked || progress.Bytes != progress.Of || progress.Of < 6<<20 {
		t.Errorf("after the check: %+v, unchecked %v", progress, unchecked)
	}
	wantMark(t, path, pagecheck.Open)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantMark(t, path, pagecheck.Checked)
}

// readSoFar returns how many bytes this process has read from files.
func readSoFar(t *testing.T) (bytes int64) {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(string(raw), "rchar: %d", &bytes); err != nil {
		t.Fatal(err)
	}
	return bytes
}

// TestAStartReadsABoundedPart checks that the start reads at most 256 KiB more from a store that is
// ten times as large, after a clean and after an unclean shutdown.
func TestAStartReadsABoundedPart(t *testing.T) {
	longtest.Skip(t, "seconds")
	var read []int64
	for _, rows := range []int{100, 1000} {
		path, _ := storedRows(t, rows)
		for _, left := range []pagecheck.State{pagecheck.Open, pagecheck.Checked} {
			if left == pagecheck.Open {
				if err := pagecheck.MarkOf(path).Write(left); err != nil {
					t.Fatal(err)
				}
			}
			before := readSoFar(t)
			s, err := Open(t.Context(), Options{Path: path, Logger: slog.New(slog.DiscardHandler), CheckBeside: true, without: optimizations{texts: true}})
			if err != nil {
				t.Fatal(err)
			}
			read = append(read, readSoFar(t)-before)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if err := pagecheck.MarkOf(path).Remove(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if read[2] > read[0]+256<<10 || read[3] > read[1]+256<<10 || read[2] > 4<<20 {
		t.Errorf("of a small store the starts read %d bytes, of a ten times larger one %d", read[:2], read[2:])
	}
}

// TestStoreWithoutAnOrderlyEndIsUnchecked checks that Unchecked reports a store that may be damaged,
// because its last server did not close it (it has a write-ahead log), or because it is a copy (the
// mark of its last opening is missing, see noticeRestore).
func TestStoreWithoutAnOrderlyEndIsUnchecked(t *testing.T) {
	longtest.Skip(t, "seconds")
	for name, leave := range map[string]func(path string) error{
		"a log": func(path string) error { return os.WriteFile(path+"-wal", make([]byte, 64), 0o600) },
		"a copy": func(path string) error {
			marks, err := marksOf(path)
			if err != nil || len(marks) != 1 {
				t.Errorf("%d marks, %v", len(marks), err)
			}
			return os.Remove(marks[0])
		},
	} {
		t.Run(name, func(t *testing.T) {
			path, _ := stored(t)
			if err := leave(path); err != nil {
				t.Fatal(err)
			}
			s, _ := opened(t, path, func(err error) { t.Error(err) })
			if _, unchecked := s.Unchecked(); !unchecked {
				t.Error("it is not unchecked")
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
