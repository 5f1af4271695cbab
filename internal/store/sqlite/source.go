package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/schema"
	"github.com/perdure/perdure/internal/store/sqlite/connection"
	"github.com/perdure/perdure/internal/store/sqlite/lock"
)

// Source reads the rows of a store that is copied to another database. No other process may have the
// store open.
type Source struct {
	conn *connection.Conn
	path string
	lock *lock.File
}

// Moved describes a move of a store's rows to another database.
type Moved struct {
	// To is a human-readable name of the new place.
	To string
	// Copy is the id of the copy with which the store was moved.
	Copy uuid.UUID
	At   perdure.Time
}

// movedTable is a table that exists only in a file whose rows were moved to another database. It is
// not part of the schema.
const movedTable = "moved"

// OpenSource opens the store at path exclusively. It neither migrates tables nor renews the epoch,
// so [Open] must have opened the store before, unless the store was moved. Errors: unavailable if
// another process has the file open.
func OpenSource(ctx context.Context, path string) (*Source, error) {
	if err := refuseHalfReplaced(path); err != nil {
		return nil, err
	}
	held, err := lock.Take(path)
	if err != nil {
		return nil, err
	}
	s, err := openLockedSource(ctx, path)
	if err != nil {
		return nil, errors.Join(err, held.Release())
	}
	s.lock = held
	return s, nil
}

func openLockedSource(ctx context.Context, path string) (*Source, error) {
	c, err := connection.Open(ctx, path, connection.Writing, "synchronous(full)")
	if err != nil {
		return nil, connection.Refusal(err)
	}
	s := &Source{conn: c, path: path}
	err = s.hold(ctx)
	if connection.IsBusy(err) {
		err = connection.Unavailable(err, "%s is in use by another process", path)
	}
	if err != nil {
		return nil, errors.Join(connection.Refusal(err), c.Close())
	}
	return s, nil
}

// hold locks the file against all other connections, including readers. For that, it sets SQLite's
// exclusive locking mode. This mode takes effect with the next transaction, so hold also runs an
// empty one.
func (s *Source) hold(ctx context.Context) error {
	v := s.conn.With(ctx)
	if _, err := v.Run("PRAGMA busy_timeout = 1000"); err != nil {
		return err
	}
	if _, err := v.One("PRAGMA locking_mode = exclusive", nil, new(string)); err != nil {
		return err
	}
	return s.transact(ctx, func(connection.View) error { return nil })
}

func (s *Source) transact(ctx context.Context, f func(v connection.View) error) error {
	v := s.conn.With(ctx)
	if _, err := v.Run("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	always := s.conn.With(context.WithoutCancel(ctx))
	if err := f(v); err != nil {
		_, endErr := always.Run("ROLLBACK")
		return errors.Join(err, endErr)
	}
	_, err := always.Run("COMMIT")
	return err
}

// Identity returns the store's epoch and the time at which the store was created, in Unix
// milliseconds.
func (s *Source) Identity(ctx context.Context) (epoch uint64, madeAt int64, err error) {
	var stored int64
	_, err = s.conn.With(ctx).One("SELECT epoch, created_at FROM store WHERE id = 1", nil, &stored, &madeAt)
	return uint64(stored), madeAt, connection.Refusal(err)
}

// Opened returns SQLite's user_version, a number that changes whenever a server opens the store.
func (s *Source) Opened(ctx context.Context) (n int64, err error) {
	_, err = s.conn.With(ctx).One("PRAGMA user_version", nil, &n)
	return n, connection.Refusal(err)
}

// Tables returns every table with stored data. Tables that describe the file itself are left out.
func (s *Source) Tables(ctx context.Context) ([]schema.Table, error) {
	return tablesOf(s.conn.With(ctx))
}

const tableColumns = "SELECT m.name, c.name, c.pk FROM sqlite_schema m JOIN pragma_table_info(m.name) c" +
	" WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND m.name NOT IN ('goose_db_version', 'store', '" + movedTable + "') ORDER BY m.name, c.name"

func tablesOf(v connection.View) ([]schema.Table, error) {
	var tables []schema.Table
	err := v.Rows(tableColumns, nil, func(row func(...any) error) error {
		var table, column string
		var place int
		if err := row(&table, &column, &place); err != nil {
			return err
		}
		if len(tables) == 0 || tables[len(tables)-1].Name != table {
			tables = append(tables, schema.Table{Name: table})
		}
		t := &tables[len(tables)-1]
		t.Columns = append(t.Columns, column)
		if place > 0 {
			for len(t.Key) < place {
				t.Key = append(t.Key, "")
			}
			t.Key[place-1] = column
		}
		return nil
	})
	return tables, connection.Refusal(err)
}

// Rows calls `take` with each row of a table, in the order of the primary key, and stops at an
// error of `take`. If `after` is not nil, Rows starts after the row with the primary key `after`. A
// row is valid only until `take` returns. The values of a row are int64, string, []byte and nil.
func (s *Source) Rows(ctx context.Context, t schema.Table, after []any, take func(row []any) error) error {
	key := strings.Join(t.Key, ", ")
	query := "SELECT " + strings.Join(t.Columns, ", ") + " FROM " + t.Name
	if after != nil {
		query += " WHERE (" + key + ") > (" + strings.TrimSuffix(strings.Repeat("?, ", len(t.Key)), ", ") + ")"
	}
	values := make([]any, len(t.Columns))
	dest := make([]any, len(t.Columns))
	for i := range values {
		dest[i] = &values[i]
	}
	err := s.conn.With(ctx).Rows(query+" ORDER BY "+key, after, func(row func(...any) error) error {
		if err := row(dest...); err != nil {
			return err
		}
		return take(values)
	})
	return connection.Refusal(err)
}

// Moved returns where and when the rows of the store were moved; nil if they were not moved.
func (s *Source) Moved(ctx context.Context) (*Moved, error) {
	m, err := movedFrom(s.conn.With(ctx))
	return m, connection.Refusal(err)
}

func movedFrom(v connection.View) (*Moved, error) {
	there, err := v.One("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = '"+movedTable+"'", nil, new(int))
	if err != nil || !there {
		return nil, err
	}
	var m Moved
	var at int64
	if _, err = v.One("SELECT target, copy, moved_at FROM "+movedTable, nil, &m.To, &m.Copy, &at); err != nil {
		return nil, err
	}
	m.At = perdure.AtMilli(at)
	return &m, nil
}

// Move marks the store as moved, so that no server opens this file any more.
func (s *Source) Move(ctx context.Context, m Moved) error {
	return connection.Refusal(s.transact(ctx, func(v connection.View) error {
		if _, err := v.Run("CREATE TABLE IF NOT EXISTS " + movedTable + " (id INTEGER PRIMARY KEY CHECK (id = 1), target TEXT NOT NULL, copy BLOB NOT NULL, moved_at INTEGER NOT NULL) STRICT"); err != nil {
			return err
		}
		_, err := v.Run("INSERT INTO "+movedTable+" (id, target, copy, moved_at) VALUES (1, ?, ?, ?) ON CONFLICT (id) DO NOTHING", m.To, m.Copy[:], m.At.UnixMilli())
		return err
	}))
}

// Close closes the file and releases its lock.
func (s *Source) Close() error { return errors.Join(s.conn.Close(), s.lock.Release()) }

// checkPlace returns an error with code conflict if the store was moved to another database.
func checkPlace(v connection.View) error {
	m, err := movedFrom(v)
	if err != nil || m == nil {
		return err
	}
	return perdure.Errorf(perdure.Conflict, "what was in this file has been moved to %s (%s); use it there: --store postgres://...",
		m.To, fmt.Sprint(m.At.UTC().Format("2006-01-02 15:04 MST")))
}
