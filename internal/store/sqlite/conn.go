package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/perdure/perdure/internal/store/relational"
)

// maxStatements bounds the statements that a connection keeps compiled. The
// number of different ones is bounded in practice; updates of row diffs are
// what could make it large.
const maxStatements = 512

// conn is one connection with its compiled statements. One goroutine uses it
// at a time.
type conn struct {
	db    *sql.DB
	raw   *sql.Conn
	stmts map[string]*sql.Stmt
}

// dsn names the file with the pragmas that every connection sets. Opening
// parameters are SQLite's own ("mode").
func dsn(path string, query url.Values) string {
	query.Add("_pragma", "busy_timeout(10000)")
	query.Add("_pragma", "foreign_keys(1)")
	query.Add("_pragma", "temp_store(memory)")
	escaped := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
	return "file:" + escaped + "?" + query.Encode()
}

func openConn(ctx context.Context, source string) (*conn, error) {
	db, err := sql.Open("sqlite", source)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	raw, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &conn{db: db, raw: raw, stmts: map[string]*sql.Stmt{}}, nil
}

func (c *conn) close() error {
	c.forget()
	return errors.Join(c.raw.Close(), c.db.Close())
}

func (c *conn) forget() {
	for _, stmt := range c.stmts {
		stmt.Close() // a statement that does not close costs memory, no data
	}
	clear(c.stmts)
}

func (c *conn) prepared(query string) (*sql.Stmt, error) {
	if stmt, ok := c.stmts[query]; ok {
		return stmt, nil
	}
	if len(c.stmts) >= maxStatements {
		c.forget()
	}
	stmt, err := c.raw.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", query, err)
	}
	c.stmts[query] = stmt
	return stmt, nil
}

// view is a connection in use for one purpose, under its caller's context.
type view struct {
	*conn
	ctx context.Context
}

// exec runs a statement and gives the number of rows that it changed.
func (v view) exec(query string, args ...any) (int64, error) {
	stmt, err := v.prepared(query)
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(v.ctx, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// one reads the first row into dest and tells whether there is one.
func (v view) one(query string, args []any, dest ...any) (bool, error) {
	stmt, err := v.prepared(query)
	if err != nil {
		return false, err
	}
	err = stmt.QueryRowContext(v.ctx, args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// each reads every row; scan is called for each with the row's Scan. It stops
// where scan tells it to, by an error or by relational.ErrStop.
func (v view) each(query string, args []any, scan func(row func(dest ...any) error) error) (err error) {
	stmt, err := v.prepared(query)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(v.ctx, args...)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := rows.Close(); err == nil {
			err = closeErr
		}
	}()
	for rows.Next() {
		if err := scan(rows.Scan); err != nil {
			if errors.Is(err, relational.ErrStop) {
				return nil
			}
			return err
		}
	}
	return rows.Err()
}

// Exec implements [relational.Conn], like the methods below.
func (v view) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	return view{v.conn, ctx}.exec(query, args...)
}

// Write is Exec at once.
func (v view) Write(ctx context.Context, query string, args ...any) error {
	_, err := v.Exec(ctx, query, args...)
	return err
}

// Each implements [relational.Conn].
func (v view) Each(ctx context.Context, query string, args []any, scan func(row func(dest ...any) error) error) error {
	return view{v.conn, ctx}.each(query, args, scan)
}

// Together runs one function after the other.
func (v view) Together(fs ...func(c relational.Conn) error) error {
	for _, f := range fs {
		if err := f(v); err != nil {
			return err
		}
	}
	return nil
}

// Apart does one piece after the other.
func (v view) Apart(pieces ...relational.Piece) error { return relational.InTurn(v, pieces) }

// Hold has nothing to do: there is only one transaction that decides.
func (v view) Hold(context.Context, ...string) error { return nil }

// Share implements [relational.Conn]: there is one transaction at a time.
func (v view) Share(context.Context, ...string) error { return nil }
