package connection

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

func openAlone(t testing.TB) View {
	t.Helper()
	return openFile(t, filepath.Join(t.TempDir(), "alone.db"))
}

// openFile creates a file and opens a writing connection to it.
func openFile(t testing.TB, path string, pragmas ...string) View {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Open(t.Context(), path, Writing, pragmas...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return View{Conn: c, ctx: t.Context()}
}

// TestValuesComeBack checks that stored values are read unchanged, and that an empty value differs
// from NULL. Unknown types, missing arguments and two statements in one text must be rejected.
func TestValuesComeBack(t *testing.T) {
	v := openAlone(t)
	if _, err := v.Run("CREATE TABLE t (id INTEGER PRIMARY KEY, v ANY) STRICT"); err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("large", 100_000)
	for i, c := range []struct{ in, out any }{
		{nil, nil},
		{int64(-1 << 63), int64(-1 << 63)},
		{7, int64(7)},
		{"", ""},
		{"a\x00b ü", "a\x00b ü"},
		{large, large},
		{[]byte{}, []byte{}},
		{[]byte(nil), nil},
		{[]byte(large), []byte(large)},
		{json.RawMessage(`{}`), []byte(`{}`)},
	} {
		n, err := v.Run("INSERT INTO t (id, v) VALUES (?, ?)", i, c.in)
		if err != nil || n != 1 {
			t.Fatalf("%d: %d rows, %v", i, n, err)
		}
		var got any
		if found, err := v.One("SELECT v FROM t WHERE id = ?", []any{i}, &got); err != nil || !found {
			t.Fatalf("%d: %v, %v", i, found, err)
		}
		a, isBytes := got.([]byte)
		b, wantBytes := c.out.([]byte)
		if isBytes != wantBytes || isBytes && !bytes.Equal(a, b) || !isBytes && got != c.out {
			t.Errorf("%d: %T comes back as %T", i, c.in, got)
		}
	}
	if _, err := v.Run("INSERT INTO t (v) VALUES (?)", uuid.New()); err == nil {
		t.Error("a value of a kind that is not known was stored")
	}
	if _, err := v.Run("INSERT INTO t (v) VALUES (?)"); err == nil {
		t.Error("a missing argument was taken for an earlier one")
	}
	if _, err := v.One("SELECT NULL", nil, new(string)); err == nil {
		t.Error("NULL was read into a string")
	}
	if _, err := v.Run("DELETE FROM t; DELETE FROM t"); err == nil {
		t.Error("the second of two statements was passed over")
	}
}

// TestStatementsWithinStatements checks that a statement of which only some rows are read keeps its
// arguments and its position while other statements run on the connection, even the same statement
// again.
func TestStatementsWithinStatements(t *testing.T) {
	v := openAlone(t)
	const query = "SELECT value FROM json_each(?)"
	var got []string
	read := func(list string, each func(s string)) {
		err := v.Rows(query, []any{list}, func(row func(...any) error) error {
			var s string
			if err := row(&s); err != nil {
				return err
			}
			each(s)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	read(`["a", "b", "c"]`, func(outer string) {
		read(`["1", "2"]`, func(inner string) { got = append(got, outer+inner) })
	})
	if want := "a1 a2 b1 b2 c1 c2"; strings.Join(got, " ") != want {
		t.Errorf("the rows are %v, want %s", got, want)
	}
}

const endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"

// readers opens a pool for a file with the table t.
func readers(t *testing.T) *Pool {
	t.Helper()
	path := filepath.Join(t.TempDir(), "readers.db")
	must(t, openFile(t, path, "journal_mode(wal)"), "CREATE TABLE t (id INTEGER PRIMARY KEY)")
	p, err := OpenPool(t.Context(), path, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// TestReadsEndWithTheirContext checks that an endless statement ends when its context is canceled,
// before or during the statement, and that the connection remains usable.
func TestReadsEndWithTheirContext(t *testing.T) {
	p := readers(t)
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		err := p.Read(ctx, func(v View) error {
			cancel()
			return v.Rows(endless, nil, func(row func(...any) error) error { return nil })
		})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("a read of an ended context gives %v", err)
		}
		err = p.Read(t.Context(), func(v View) error {
			_, err := v.One("SELECT count(*) FROM t", nil, new(int))
			return err
		})
		if err != nil {
			t.Fatalf("the read after it gives %v", err)
		}
	}
	v := openAlone(t)
	ctx, cancel := context.WithCancel(t.Context())
	go cancel()
	if _, err := (View{Conn: v.Conn, ctx: ctx}).One(endless, nil, new(int)); !errors.Is(err, context.Canceled) {
		t.Errorf("a statement whose context ends gives %v", err)
	}
	if _, err := v.One("SELECT 1", nil, new(int)); err != nil {
		t.Errorf("the next one gives %v", err)
	}
}

// TestReadersCannotWrite checks that a connection of the pool cannot write. It also checks that
// ErrStop ends a read without an error.
func TestReadersCannotWrite(t *testing.T) {
	p := readers(t)
	err := p.Read(t.Context(), func(v View) error {
		_, err := v.Run("DELETE FROM t")
		return err
	})
	if err == nil {
		t.Error("a reader wrote")
	}
	err = p.Read(t.Context(), func(v View) error {
		return v.Rows("SELECT 1", nil, func(func(...any) error) error { return statement.ErrStop })
	})
	if err != nil {
		t.Error(err)
	}
}

// BenchmarkStatement measures typical statements inside one transaction.
func BenchmarkStatement(b *testing.B) {
	v := openAlone(b)
	id := uuid.New()
	for _, query := range []string{
		"CREATE TABLE t (number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, a TEXT, b INTEGER, c BLOB, d TEXT, e INTEGER, f BLOB) STRICT",
		"CREATE TABLE l (id BLOB NOT NULL, pos INTEGER NOT NULL, a TEXT, b INTEGER, PRIMARY KEY (id, pos)) STRICT, WITHOUT ROWID",
		"BEGIN",
	} {
		if _, err := v.Run(query); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := v.Run("INSERT INTO t (id) VALUES (?)", id[:]); err != nil {
		b.Fatal(err)
	}
	for _, one := range []struct {
		name string
		run  func(i int) error
	}{
		{"update", func(i int) error {
			_, err := v.Run("UPDATE t SET a = ?, b = ?, c = ?, d = ?, e = ?, f = ? WHERE id = ?", "some text", i, id[:], "another", i, id[:], id[:])
			return err
		}},
		{"select", func(int) error {
			var n, e int64
			var a, d string
			var i, c, f uuid.UUID
			_, err := v.One("SELECT * FROM t WHERE id = ?", []any{id[:]}, &n, &i, &a, &e, &c, &d, &e, &f)
			return err
		}},
		{"insert", func(i int) error {
			_, err := v.Run("INSERT INTO l (id, pos, a, b) VALUES (?, ?, ?, ?)", id[:], i, "some text", i)
			return err
		}},
	} {
		b.Run(one.name, func(b *testing.B) {
			if _, err := v.Run("DELETE FROM l"); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := one.run(i); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
