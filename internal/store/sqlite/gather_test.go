package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store"
	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// logCalls counts and controls the writes to a log. Only one test at a time may use it.
var logCalls struct {
	writes, bytes int
	real          uintptr
	fail          int32 // result code of the writes, if not 0
	noAhead       bool  // only writes that extend the file ahead fail
}

func countedWrite(tls *libc.TLS, file, p uintptr, n int32, offset int64) int32 {
	if logCalls.fail != 0 && (!logCalls.noAhead || p == gatheredOf(file).zeros) {
		return logCalls.fail
	}
	logCalls.writes++
	logCalls.bytes += int(n)
	return called[pieceMethod](logCalls.real)(tls, file, p, n, offset)
}

// counting replaces the write of the log's own methods by countedWrite.
func counting(t *testing.T, c *conn) {
	t.Helper()
	g := (*gathered)(at(c.gathering))
	memory, err := c.malloc(1 << 10)
	if err != nil {
		t.Fatal(err)
	}
	methods := (*lib.Tsqlite3_io_methods)(at(memory))
	*methods = *g.real()
	logCalls.writes, logCalls.bytes, logCalls.fail, logCalls.noAhead, logCalls.real = 0, 0, 0, false, methods.FxWrite
	methods.FxWrite = callback(countedWrite)
	before := g.own
	g.own = memory
	t.Cleanup(func() {
		g.own = before
		c.free(memory)
	})
}

// writer creates a file with a table, and opens a writing connection with the layer [gathered].
func writer(t *testing.T) (path string, v view) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "gather.db")
	if err := makeFile(path); err != nil {
		t.Fatal(err)
	}
	c, err := openWriter(t.Context(), Options{Path: path}.normal())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.close(); err != nil {
			t.Error(err)
		}
	})
	v = view{conn: c, ctx: t.Context()}
	must(t, v, "CREATE TABLE page (id INTEGER PRIMARY KEY, content BLOB)")
	if err := c.gather(); err != nil {
		t.Fatal(err)
	}
	return path, v
}

func must(t *testing.T, v view, query string, args ...any) {
	t.Helper()
	if _, err := v.exec(query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

const fill = "INSERT INTO page (content) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT randomblob(3000) FROM n"

// TestPagesOfACommitAreWrittenTogether checks that a call writes at least 20 pages of a large
// commit on average.
func TestPagesOfACommitAreWrittenTogether(t *testing.T) {
	_, v := writer(t)
	counting(t, v.conn)
	must(t, v, fill, 300)
	if pages := logCalls.bytes / 4096; pages < 300 || logCalls.writes > pages/20 {
		t.Errorf("%d pages were written with %d calls", pages, logCalls.writes)
	}
}

// TestLogIsMadeLongerAhead checks that 200 commits change the length of the log at most 20 times.
func TestLogIsMadeLongerAhead(t *testing.T) {
	path, v := writer(t)
	sizes := map[int64]bool{}
	for range 200 {
		must(t, v, fill, 1)
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		sizes[info.Size()] = true
	}
	if len(sizes) > 20 {
		t.Errorf("the log had %d lengths with 200 commits", len(sizes))
	}
}

// TestLogThatCannotBeMadeLongerAhead checks that commits succeed and are readable if writing zeros
// ahead fails, and that the log is hardly longer than the data written.
func TestLogThatCannotBeMadeLongerAhead(t *testing.T) {
	path, v := writer(t)
	counting(t, v.conn)
	logCalls.fail, logCalls.noAhead = lib.SQLITE_FULL, true
	for range 3 {
		must(t, v, fill, 40)
	}
	var rows int
	if _, err := v.one("SELECT count(*) FROM page", nil, &rows); err != nil || rows != 120 {
		t.Errorf("there are %d rows, %v", rows, err)
	}
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() > int64(logCalls.bytes)+logAhead {
		t.Errorf("the log has %d bytes, %d were written, %v", info.Size(), logCalls.bytes, err)
	}
	digest(t, path)
}

// TestCommitsAreInTheFiles checks that a copy of the files, taken after a commit, contains the
// committed data, so that the end of the process loses nothing.
func TestCommitsAreInTheFiles(t *testing.T) {
	path, v := writer(t)
	for n := range 5 {
		must(t, v, fill, 1+n*20)
		copied := filepath.Join(t.TempDir(), "copy.db")
		for _, end := range []string{"", "-wal"} {
			content, err := os.ReadFile(path + end)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(copied+end, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := digest(t, copied), digest(t, path); got != want {
			t.Errorf("after commit %d the files hold %s, want %s", n, got, want)
		}
	}
}

// digest returns a summary of the table as another connection reads it, and checks the integrity of
// the file.
func digest(t *testing.T, path string) (d string) {
	t.Helper()
	c, err := openConn(t.Context(), path, writing)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	v := view{conn: c, ctx: t.Context()}
	if _, err := v.one("SELECT count(*) || ' ' || coalesce(hex(max(content)), '') || ' ' || coalesce(hex(min(content)), '') FROM page", nil, &d); err != nil {
		t.Fatal(err)
	}
	var sound string
	if _, err := v.one("PRAGMA integrity_check", nil, &sound); err != nil || sound != "ok" {
		t.Errorf("%s: %s, %v", path, sound, err)
	}
	return d
}

// TestLogIsAsItWasWritten checks that reads, sizes and truncations of the log see the earlier
// writes, including collected ones.
func TestLogIsAsItWasWritten(t *testing.T) {
	_, v := writer(t)
	file, err := v.logFile()
	if err != nil {
		t.Fatal(err)
	}
	place, err := v.malloc(16)
	if err != nil {
		t.Fatal(err)
	}
	defer v.free(place)
	memory, methods := bytesAt(place, 16), &gatheredOf(file).methods
	fine := func(code int32) {
		t.Helper()
		if code != lib.SQLITE_OK {
			t.Fatalf("gives %d", code)
		}
	}
	size := func() int64 {
		t.Helper()
		fine(called[placeMethod](methods.FxFileSize)(v.tls, file, place))
		return *(*int64)(at(place))
	}
	write := func(text string, offset int64) {
		t.Helper()
		copy(memory, text)
		fine(called[pieceMethod](methods.FxWrite)(v.tls, file, place, int32(len(text)), offset))
	}
	read := func(n int32, offset int64) string {
		t.Helper()
		clear(memory)
		fine(called[pieceMethod](methods.FxRead)(v.tls, file, place, n, offset))
		return string(memory[:n])
	}
	end := size()
	write("abc", end)
	write("def", end+3)
	if got := read(6, end); got != "abcdef" {
		t.Errorf("reads %q", got)
	}
	write("xy", end+1) // not directly after the last one
	write("z", end+9)
	if got := size(); got < end+10 {
		t.Errorf("is %d bytes long, want %d at least", got, end+10)
	}
	if got := read(10, end); got != "axyd"+"ef\x00\x00\x00z" {
		t.Errorf("reads %q", got)
	}
	if got := read(5, end+10); got != "\x00\x00\x00\x00\x00" {
		t.Errorf("there is %q behind what was written", got)
	}
	write("more", end+10)
	fine(called[sizeMethod](methods.FxTruncate)(v.tls, file, end))
	fine(called[flagsMethod](methods.FxSync)(v.tls, file, lib.SQLITE_SYNC_NORMAL))
	if got := size(); got != end {
		t.Errorf("is %d bytes long after it was cut to %d", got, end)
	}
}

// TestLargeTransactionsReadWhatTheyHaveWritten checks that a transaction larger than SQLite's cache
// reads its own writes, and that a rollback leaves the table as it was.
func TestLargeTransactionsReadWhatTheyHaveWritten(t *testing.T) {
	path, v := writer(t)
	for _, end := range []string{"ROLLBACK", "COMMIT", "ROLLBACK"} {
		before := digest(t, path)
		must(t, v, "BEGIN IMMEDIATE")
		must(t, v, fill, 2000)
		must(t, v, "UPDATE page SET content = id || ':' || hex(content) WHERE typeof(content) = 'blob'")
		must(t, v, "DELETE FROM page WHERE id % 3 = 0")
		var wrong int
		if _, err := v.one("SELECT count(*) FROM page WHERE id % 3 = 0 OR content NOT LIKE id || ':%'", nil, &wrong); err != nil || wrong != 0 {
			t.Errorf("%d rows are wrong, %v", wrong, err)
		}
		must(t, v, end)
		if after := digest(t, path); (after == before) != (end == "ROLLBACK") {
			t.Errorf("after %s: %.20s, before it %.20s", end, after, before)
		}
	}
}

// TestFullLogFailsTheBatchAlone checks that a command fails while the log cannot be written, and
// that earlier and later commands are not affected.
func TestFullLogFailsTheBatchAlone(t *testing.T) {
	s := open(t, Options{})
	counting(t, s.committer.conn)
	first, second := uuid.New(), uuid.New()
	if err := begin(t, s, first, nil); err != nil {
		t.Fatal(err)
	}
	logCalls.fail = lib.SQLITE_FULL
	if err := begin(t, s, second, nil); err == nil {
		t.Error("a command is done without a log")
	}
	logCalls.fail = 0
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

// TestPagesOfARollbackAreNotWritten checks that no collected data remains after a rollback. A
// rollback by the committer must also write none of it.
func TestPagesOfARollbackAreNotWritten(t *testing.T) {
	s := open(t, Options{})
	c := s.committer.conn
	v := view{conn: c, ctx: t.Context()}
	for name, giveUp := range map[string]func() error{
		"by the committer": func() error { return s.committer.rollback(v) },
		"by SQLite": func() error {
			_, err := v.exec("ROLLBACK")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) { givenUp(t, s, giveUp, name == "by the committer") })
	}
}

func givenUp(t *testing.T, s *Store, giveUp func() error, unwritten bool) {
	t.Helper()
	c := s.committer.conn
	v := view{conn: c, ctx: t.Context()}
	counting(t, c)
	must(t, v, "BEGIN IMMEDIATE")
	must(t, v, "CREATE TABLE page (id INTEGER PRIMARY KEY, content BLOB)")
	must(t, v, fill, 1200) // more than fits into the cache
	g := (*gathered)(at(c.gathering))
	if g.n == 0 {
		t.Fatal("nothing is gathered")
	}
	before := logCalls.bytes
	if err := giveUp(); err != nil {
		t.Fatal(err)
	}
	if g.n != 0 {
		t.Errorf("%d bytes are left of what was given up", g.n)
	}
	if written := logCalls.bytes - before; written != 0 && unwritten {
		t.Errorf("%d bytes were written of what was given up", written)
	}
}
