package connection

import (
	"os"
	"path/filepath"
	"testing"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// logCalls counts and controls the writes to a write-ahead log. Only one test at a time may use it.
var logCalls struct {
	writes, bytes int
	real          uintptr
	fail          int32 // result code that the writes return, if not 0
	noAhead       bool  // fail makes only those writes fail that extend the file ahead
}

func countedWrite(tls *libc.TLS, file, p uintptr, n int32, offset int64) int32 {
	if logCalls.fail != 0 && (!logCalls.noAhead || p == gatheredOf(file).zeros) {
		return logCalls.fail
	}
	logCalls.writes++
	logCalls.bytes += int(n)
	return called[pieceMethod](logCalls.real)(tls, file, p, n, offset)
}

// counting replaces the write method that the VFS has set for the write-ahead log by countedWrite.
func counting(t *testing.T, c *Conn) {
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
func writer(t *testing.T) (path string, v View) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "gather.db")
	v = openFile(t, path, "journal_mode(wal)", "synchronous(full)", "cache_size(-4096)")
	must(t, v, "CREATE TABLE page (id INTEGER PRIMARY KEY, content BLOB)")
	if err := v.GatherLog(); err != nil {
		t.Fatal(err)
	}
	return path, v
}

func must(t *testing.T, v View, query string, args ...any) {
	t.Helper()
	if _, err := v.Run(query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

const fill = "INSERT INTO page (content) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT randomblob(3000) FROM n"

// TestPagesOfACommitAreWrittenTogether checks that a large commit writes at least 20 pages per
// system call on average.
func TestPagesOfACommitAreWrittenTogether(t *testing.T) {
	_, v := writer(t)
	counting(t, v.Conn)
	must(t, v, fill, 300)
	if pages := logCalls.bytes / 4096; pages < 300 || logCalls.writes > pages/20 {
		t.Errorf("%d pages were written with %d calls", pages, logCalls.writes)
	}
}

// TestLogIsMadeLongerAhead checks that 200 commits change the length of the write-ahead log at most
// 20 times.
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

// TestLogThatCannotBeMadeLongerAhead checks that commits succeed and can be read if writing zeros
// ahead fails. The write-ahead log must then be little longer than the written data.
func TestLogThatCannotBeMadeLongerAhead(t *testing.T) {
	path, v := writer(t)
	counting(t, v.Conn)
	logCalls.fail, logCalls.noAhead = lib.SQLITE_FULL, true
	for range 3 {
		must(t, v, fill, 40)
	}
	var rows int
	if _, err := v.One("SELECT count(*) FROM page", nil, &rows); err != nil || rows != 120 {
		t.Errorf("there are %d rows, %v", rows, err)
	}
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() > int64(logCalls.bytes)+logAhead {
		t.Errorf("the log has %d bytes, %d were written, %v", info.Size(), logCalls.bytes, err)
	}
	digest(t, path)
}

// TestCommitsAreInTheFiles checks that a copy of the files, made after a commit, contains the
// committed data.
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

// digest returns a summary of the table as another connection reads it. It also checks the integrity
// of the file.
func digest(t *testing.T, path string) (d string) {
	t.Helper()
	c, err := Open(t.Context(), path, Writing)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	v := View{Conn: c, ctx: t.Context()}
	if _, err := v.One("SELECT count(*) || ' ' || coalesce(hex(max(content)), '') || ' ' || coalesce(hex(min(content)), '') FROM page", nil, &d); err != nil {
		t.Fatal(err)
	}
	var sound string
	if _, err := v.One("PRAGMA integrity_check", nil, &sound); err != nil || sound != "ok" {
		t.Errorf("%s: %s, %v", path, sound, err)
	}
	return d
}

// TestLogIsAsItWasWritten checks that reads, sizes and truncations of SQLite's write-ahead log take
// earlier writes into account, including the writes that the layer [gathered] has collected in
// memory.
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
	write("xy", end+1) // there is a gap after the last write
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

// TestLargeTransactionsReadWhatTheyHaveWritten checks that a transaction that is larger than
// SQLite's cache reads its own writes. After a rollback, the table must be as it was.
func TestLargeTransactionsReadWhatTheyHaveWritten(t *testing.T) {
	path, v := writer(t)
	for _, end := range []string{"ROLLBACK", "COMMIT", "ROLLBACK"} {
		before := digest(t, path)
		must(t, v, "BEGIN IMMEDIATE")
		must(t, v, fill, 2000)
		must(t, v, "UPDATE page SET content = id || ':' || hex(content) WHERE typeof(content) = 'blob'")
		must(t, v, "DELETE FROM page WHERE id % 3 = 0")
		var wrong int
		if _, err := v.One("SELECT count(*) FROM page WHERE id % 3 = 0 OR content NOT LIKE id || ':%'", nil, &wrong); err != nil || wrong != 0 {
			t.Errorf("%d rows are wrong, %v", wrong, err)
		}
		must(t, v, end)
		if after := digest(t, path); (after == before) != (end == "ROLLBACK") {
			t.Errorf("after %s: %.20s, before it %.20s", end, after, before)
		}
	}
}

// TestPagesOfARollbackAreNotWritten checks that no collected data remains after a rollback, and that
// none of it is written after ForgetGathered.
func TestPagesOfARollbackAreNotWritten(t *testing.T) {
	_, v := writer(t)
	counting(t, v.Conn)
	g := (*gathered)(at(v.gathering))
	for _, forget := range []bool{true, false} {
		must(t, v, "BEGIN IMMEDIATE")
		must(t, v, fill, 1200) // more rows than fit into the cache
		if g.n == 0 {
			t.Fatal("nothing is gathered")
		}
		before := logCalls.bytes
		if forget {
			v.ForgetGathered()
		}
		must(t, v, "ROLLBACK")
		if g.n != 0 {
			t.Errorf("%d bytes are left of what was given up", g.n)
		}
		if written := logCalls.bytes - before; written != 0 && forget {
			t.Errorf("%d bytes were written of what was given up", written)
		}
	}
}

// TestOnlyQuickCommitsMakeTheLogLonger checks GoAhead. After GoAhead(false), a commit extends the
// write-ahead log only by its own data. After GoAhead(true), it extends the log ahead of writes.
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
	counting(t, v.Conn)
	v.Conn.GoAhead(false)
	before := size()
	must(t, v, fill, 30)
	if written := int64(logCalls.bytes); size()-before != written {
		t.Errorf("the log grew by %d bytes for %d that were written", size()-before, written)
	}
	v.Conn.GoAhead(true)
	before, logCalls.bytes = size(), 0
	must(t, v, fill, 1)
	if grown := size() - before; grown < logAhead {
		t.Errorf("the log of a quick commit grew by %d bytes, less than %d", grown, logAhead)
	}
}
