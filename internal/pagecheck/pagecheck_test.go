package pagecheck_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/pagecheck"
	_ "modernc.org/sqlite"
)

// moment is a Snapshot that reads pages with database/sql, and counts them.
type moment struct {
	*sql.DB
	pages *int
}

func (m moment) Page(n uint32) (page []byte, err error) {
	*m.pages++
	err = m.QueryRow("SELECT data FROM sqlite_dbpage WHERE pgno = ?", n).Scan(&page)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return page, err
}

func (m moment) Roots() (roots []uint32, err error) {
	rows, err := m.Query("SELECT rootpage FROM sqlite_schema WHERE rootpage > 0")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var root uint32
		if err := rows.Scan(&root); err != nil {
			return nil, err
		}
		roots = append(roots, root)
	}
	return roots, rows.Err()
}

func (m moment) Quick() (verdict string, err error) {
	return verdict, m.QueryRow("PRAGMA quick_check(1)").Scan(&verdict)
}

// checked is a File that counts the pages that were read, and the transactions in which they were
// read.
type checked struct {
	pagecheck.File
	pages, pieces int
}

func checkOf(db *sql.DB) *checked {
	c := &checked{}
	c.Read = func(_ context.Context, f func(pagecheck.Snapshot) error) error {
		c.pieces++
		return f(moment{db, &c.pages})
	}
	return c
}

func openFile(t *testing.T, path string, pragmas ...string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=auto_vacuum(incremental)&_pragma=synchronous(off)"+strings.Join(append([]string{""}, pragmas...), "&_pragma="))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func execute(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// fill creates tables of all types, with rows of all sizes.
func fill(t *testing.T, db *sql.DB, rows int) {
	t.Helper()
	for _, q := range []string{
		"CREATE TABLE IF NOT EXISTS plain (id INTEGER PRIMARY KEY, kind TEXT, number REAL, content BLOB)",
		"CREATE INDEX IF NOT EXISTS by_content ON plain (kind, content)",
		"CREATE TABLE IF NOT EXISTS keyed (a TEXT, b BLOB, content BLOB, PRIMARY KEY (a, b)) WITHOUT ROWID",
		"CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(text)",
		"BEGIN",
	} {
		execute(t, db, q)
	}
	// The rows have the same bytes in each run, so that the tests damage the same pages.
	var there uint64
	if err := db.QueryRow("SELECT coalesce(max(id), 0) FROM plain").Scan(&there); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(17, there))
	content := make([]byte, 20_000)
	for i := range content {
		content[i] = byte(1 + r.IntN(255))
	}
	for i := range rows {
		size := r.IntN(60)
		if i%7 == 0 {
			size = r.IntN(len(content))
		}
		execute(t, db, "INSERT INTO plain (kind, number, content) VALUES (?, ?, ?)", fmt.Sprint("kind ", i%5), r.NormFloat64(), content[:size])
		execute(t, db, "INSERT INTO keyed VALUES (?, ?, ?)", fmt.Sprint(r.Int64()), content[:r.IntN(700)], content[:size])
		if i%10 == 0 {
			execute(t, db, "INSERT INTO words VALUES (?)", fmt.Sprint("some words ", r.Int64()))
		}
	}
	execute(t, db, "COMMIT")
}

// TestSoundFilesPass checks that Start and Whole find no damage in a sound file after inserts,
// deletes, updates, new columns and vacuums.
func TestSoundFilesPass(t *testing.T) {
	for _, pageSize := range []int{512, 4096, 65536} {
		t.Run(fmt.Sprint(pageSize), func(t *testing.T) {
			db := openFile(t, filepath.Join(t.TempDir(), "x.db"), fmt.Sprintf("page_size(%d)", pageSize), "secure_delete(1)", "journal_mode(wal)")
			c := checkOf(db)
			for round := range 6 {
				fill(t, db, 150)
				if round%2 == 1 {
					execute(t, db, "DELETE FROM plain WHERE id % ? <> 0", round+1)
					execute(t, db, "DELETE FROM keyed WHERE length(b) > 300")
					execute(t, db, "UPDATE plain SET kind = kind || ' again' WHERE id % 3 = 0")
					execute(t, db, "ALTER TABLE plain ADD COLUMN "+fmt.Sprint("c", round)+" TEXT DEFAULT 'x'")
				}
				if round%3 == 2 {
					vacuum(t, db)
				}
				for what, err := range map[string]error{"start": c.Start(t.Context()), "whole": c.Whole(t.Context())} {
					if err != nil {
						t.Fatalf("round %d, %s: %v", round, what, err)
					}
				}
			}
		})
	}
}

// TestDamageIsFound overwrites one page of each type of table and index pages, in five ways. It
// checks that Whole finds the damage each time.
func TestDamageIsFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db := openFile(t, path)
	fill(t, db, 1800)
	kinds := map[byte][]uint32{}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const size = 4096
	for page := uint32(3); int(page) <= len(raw)/size; page++ {
		if at := (page-2)/820*820 + 2; at != page {
			kind := raw[int(at-1)*size+5*int(page-at-1)]
			if kind == 5 || kind == 1 {
				kind = 16 + raw[int(page-1)*size]
			}
			if kind < 16 || raw[int(page-1)*size+4] > 4 { // cells fill the page
				kinds[kind] = append(kinds[kind], page)
			}
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	// Overflow pages (parts of long contents) are not damaged here, because any bytes in them are
	// valid.
	for name, kind := range map[string]byte{"index, inner": 18, "table, inner": 21, "index, leaf": 26, "table, leaf": 29} {
		if len(kinds[kind]) == 0 {
			t.Fatalf("there is no page of kind %s in %v", name, len(kinds))
		}
		page := kinds[kind][len(kinds[kind])/2]
		for how, damage := range map[string]func(page, other []byte){
			"zeros":                func(page, _ []byte) { clear(page) },
			"garbage":              func(page, _ []byte) { copy(page, strings.Repeat("garbage ", 512)) },
			"another page":         func(page, other []byte) { copy(page, other) },
			"half of another page": func(page, other []byte) { copy(page[:512], other) },
			"the end is lost":      func(page, _ []byte) { clear(page[2048:]) },
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				other := kinds[29][0]
				if kind == 29 {
					other = kinds[26][0]
				}
				copied := append([]byte(nil), raw...)
				damage(copied[int(page-1)*size:int(page)*size], raw[int(other-1)*size:int(other)*size])
				broken := filepath.Join(t.TempDir(), "y.db")
				if err := os.WriteFile(broken, copied, 0o600); err != nil {
					t.Fatal(err)
				}
				err := checkOf(openFile(t, broken)).Whole(t.Context())
				var found *pagecheck.Damage
				if !errors.As(err, &found) {
					t.Errorf("page %d gives %v", page, err)
				}
			})
		}
	}
}

// TestReadsAreBounded checks how much is read. Start reads about as much of a large file as of a
// small one. Whole reads the file in pieces of limited size with pauses between them, and ends if
// Pause returns an error.
func TestReadsAreBounded(t *testing.T) {
	db := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	fill(t, db, 1500)
	c := checkOf(db)
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	small := c.pages
	fill(t, db, 3000)
	c.pages = 0
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c.pages > small+8 || c.pages > 200 {
		t.Errorf("a start reads %d pages, of a third of the file %d", c.pages, small)
	}
	var pauses, longest, before int
	c.pages, c.pieces = 0, 0
	c.Pause = func(context.Context, time.Duration) error {
		pauses, longest, before = pauses+1, max(longest, c.pages-before), c.pages
		return nil
	}
	var told, of uint32
	c.Progress = func(pages, all uint32) { told, of = pages, all }
	if err := c.Whole(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c.pieces < 5 || pauses != c.pieces-1 || longest > 3*820 {
		t.Errorf("%d pieces with %d pauses, the longest of %d pages", c.pieces, pauses, longest)
	}
	if told != of || of < 5*800 {
		t.Errorf("told of %d of %d pages", told, of)
	}
	stop := errors.New("stop")
	c.Pause = func(context.Context, time.Duration) error { return stop }
	if err := c.Whole(t.Context()); !errors.Is(err, stop) {
		t.Errorf("a pause that says stop gives %v", err)
	}
}

// TestAFileWithoutAPointerMap checks that Whole finds damage in a file without a pointer map, which
// PRAGMA quick_check checks.
func TestAFileWithoutAPointerMap(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db := openFile(t, path, "auto_vacuum(0)")
	execute(t, db, "PRAGMA auto_vacuum = 0")
	execute(t, db, "VACUUM")
	fill(t, db, 500)
	if err := checkOf(db).Whole(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(strings.Repeat("garbage ", 5*512)), 40*4096); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	var found *pagecheck.Damage
	if err := checkOf(openFile(t, path)).Whole(t.Context()); !errors.As(err, &found) {
		t.Errorf("damage gives %v", err)
	}
}

// vacuum returns unused pages to the file system. The statement returns a row for each page, and
// all rows must be read.
func vacuum(t *testing.T, db *sql.DB) {
	t.Helper()
	rows, err := db.Query("PRAGMA incremental_vacuum(50)")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}
