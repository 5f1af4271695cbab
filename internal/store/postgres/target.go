package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/relational"
)

// Target is a database that a whole store is copied into. While a copy is
// unfinished no store opens there.
type Target struct {
	conn     *pgx.Conn
	warnings warnings
	tables   []relational.Table
}

// Copying is a copy that is not finished.
type Copying struct {
	ID uuid.UUID `json:"id"`
	// Source tells the store that it comes from, and MadeAt that store's beginning.
	Source string `json:"source"`
	MadeAt int64  `json:"madeAt"`
	// Keep reports whether the source stays in use.
	Keep bool `json:"keep"`
}

// copying is the lock under which a database is filled. The table of the same
// name stands there for as long; it is no part of the schema.
const copying = 0x70657264757266

// OpenTarget connects to the database at url and brings its tables up to date,
// which a server does not do there any more until the copy is finished. Errors:
// those of Open, and conflict while another copy, or a server, is at work there.
func OpenTarget(ctx context.Context, url string) (*Target, error) {
	if _, _, err := migrateFor(ctx, url, true); err != nil {
		return nil, err
	}
	config, err := parse(url)
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["application_name"] = "perdure store copy"
	// Whatever the last transaction commits durably makes what was before it so.
	config.RuntimeParams["synchronous_commit"] = "off"
	config.RuntimeParams["statement_timeout"] = "0"
	config.RuntimeParams["lock_timeout"] = "3s"
	t := &Target{}
	config.OnNotice = t.warnings.take
	if t.conn, err = pgx.ConnectConfig(ctx, config); err != nil {
		return nil, unreachable(err)
	}
	if err := t.take(ctx); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	if t.tables, err = tablesOf(ctx, t.conn); err != nil {
		return nil, errors.Join(refusal(err), t.Close())
	}
	return t, nil
}

// serving is the lock that each connection of a server shares, and that a copy
// has alone: what a connection calls itself is its URL's affair.
const serving = 0x70657264737276

// take sees to it that nobody else writes. It waits a moment for a copy that was
// interrupted, whose connection the database may not know yet to be gone.
func (t *Target) take(ctx context.Context) error {
	_, err := t.conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(copying))
	if codeOf(err) == lockTimeout {
		return &perdure.Error{Code: perdure.Conflict, Message: "another copy into this database is under way", Err: err}
	}
	if err != nil {
		return refusal(err)
	}
	return t.alone(ctx)
}

// alone keeps servers out. The database may not know yet that one has gone. It
// does not wait in line, where it would keep those that are there from connecting.
func (t *Target) alone(ctx context.Context) error {
	const tries, pause = 20, 50 * time.Millisecond
	for n := 1; ; n++ {
		var free bool
		if err := t.conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", int64(serving)).Scan(&free); err != nil {
			return refusal(err)
		}
		if free {
			return nil
		}
		if n == tries {
			return perdure.Errorf(perdure.Conflict, "a server uses this database; stop it first")
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Tables returns every table that holds what is stored, each after those that it
// refers to; those by which the database itself is known are left out.
func (t *Target) Tables() []relational.Table { return t.tables }

// Unfinished returns the copy that has begun here and has not ended, if any.
func (t *Target) Unfinished(ctx context.Context) (*Copying, error) {
	there, err := unfinished(ctx, t.conn)
	if err != nil || !there {
		return nil, refusal(err)
	}
	var raw []byte
	err = t.conn.QueryRow(ctx, "SELECT progress FROM copying WHERE table_name = ''").Scan(&raw)
	if err != nil {
		return nil, refusal(err)
	}
	var c Copying
	return &c, json.Unmarshal(raw, &c)
}

func unfinished(ctx context.Context, conn *pgx.Conn) (there bool, err error) {
	err = conn.QueryRow(ctx, "SELECT to_regclass('copying') IS NOT NULL").Scan(&there)
	return there, err
}

// Empty reports whether nothing is stored here.
func (t *Target) Empty(ctx context.Context) (bool, error) {
	for _, table := range t.tables {
		var any bool
		where := ""
		if table.Name == "org" {
			where = " WHERE id <> 'default' OR disabled_at IS NOT NULL" // a new database has that one
		}
		if err := t.conn.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM "+table.Name+where+")").Scan(&any); err != nil || any {
			return false, refusal(err)
		}
	}
	return true, nil
}

// Epoch is what [Store.Epoch] gives of the database.
func (t *Target) Epoch(ctx context.Context) (uint64, error) {
	epoch, err := readEpoch(ctx, t.conn)
	return epoch, refusal(err)
}

// Begin empties the database for a copy, and keeps servers away until Finish.
func (t *Target) Begin(ctx context.Context, c Copying) error {
	raw, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return t.transact(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "CREATE TABLE IF NOT EXISTS copying (table_name TEXT PRIMARY KEY, progress TEXT NOT NULL)"); err != nil {
			return err
		}
		for _, table := range t.tables {
			if err := emptyTable(ctx, tx, table); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, "DELETE FROM copying"); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "INSERT INTO copying (table_name, progress) VALUES ('', $1)", string(raw))
		return err
	})
}

func emptyTable(ctx context.Context, tx pgx.Tx, table relational.Table) error {
	var any bool
	err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM "+table.Name+")").Scan(&any)
	if err != nil || !any {
		return err
	}
	_, err = tx.Exec(ctx, "TRUNCATE "+table.Name+" CASCADE")
	return err
}

// Progress returns what Put noted of a table last, "" if nothing.
func (t *Target) Progress(ctx context.Context, table string) (note string, err error) {
	err = t.conn.QueryRow(ctx, "SELECT progress FROM copying WHERE table_name = $1", table).Scan(&note)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return note, refusal(err)
}

// Put adds rows to a table, their values in the order of its columns, and notes
// how far the table is, both or neither.
func (t *Target) Put(ctx context.Context, table relational.Table, rows [][]any, note string) error {
	err := t.transact(ctx, func(tx pgx.Tx) error {
		if _, err := tx.CopyFrom(ctx, pgx.Identifier{table.Name}, table.Columns, pgx.CopyFromRows(rows)); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "INSERT INTO copying (table_name, progress) VALUES ($1, $2) ON CONFLICT (table_name) DO UPDATE SET progress = excluded.progress",
			table.Name, note)
		return err
	})
	if err != nil {
		return fmt.Errorf("write into %s: %w", table.Name, err)
	}
	return nil
}

// Rows returns every row of a table, in any order; see [sqlite.Source.Rows].
func (t *Target) Rows(ctx context.Context, table relational.Table, take func(row []any) error) error {
	query := "SELECT "
	for i, column := range table.Columns {
		if i > 0 {
			query += ", "
		}
		query += column
	}
	rows, err := t.conn.Query(ctx, query+" FROM "+table.Name)
	if err != nil {
		return refusal(err)
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return refusal(err)
		}
		for i, v := range values {
			values[i] = plainValue(v)
		}
		if err := take(values); err != nil {
			return err
		}
	}
	return refusal(rows.Err())
}

// plainValue returns a value as SQLite has it.
func plainValue(v any) any {
	switch v := v.(type) {
	case [16]byte:
		return v[:]
	case int16:
		return int64(v)
	case int32:
		return int64(v)
	}
	return v
}

// Finish lets servers in. With epoch, which is not 0, readers continue where they
// were in the store that has it; else they start again. An error may come after the
// copy was finished here: then it is not known whether the standby has it.
func (t *Target) Finish(ctx context.Context, epoch uint64, madeAt int64) error {
	t.warnings.last = nil
	return errors.Join(t.finish(ctx, epoch, madeAt), refusal(t.warnings.err()))
}

func (t *Target) finish(ctx context.Context, epoch uint64, madeAt int64) error {
	return t.transact(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, durably); err != nil {
			return err
		}
		for _, table := range t.tables {
			if err := goOnNumbering(ctx, tx, table); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, "UPDATE store SET created_at = $1", madeAt); err != nil {
			return err
		}
		if epoch != 0 {
			if err := setEpoch(ctx, tx, epoch); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, "DROP TABLE copying")
		return err
	})
}

// goOnNumbering makes the next row's number follow the highest one.
func goOnNumbering(ctx context.Context, tx pgx.Tx, table relational.Table) error {
	var sequence *string
	err := tx.QueryRow(ctx, "SELECT pg_get_serial_sequence($1, column_name) FROM information_schema.columns"+
		" WHERE table_schema = current_schema() AND table_name = $1 AND is_identity = 'YES'", table.Name).Scan(&sequence)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && sequence == nil {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "SELECT setval($1::regclass, max(number)) FROM "+table.Name+" HAVING max(number) IS NOT NULL", *sequence)
	return err
}

// Tidy lets the database look at what it was filled with.
func (t *Target) Tidy(ctx context.Context) error {
	_, err := t.conn.Exec(ctx, "ANALYZE")
	return refusal(err)
}

// Close gives the database up.
func (t *Target) Close() error { return t.conn.Close(context.Background()) }

func (t *Target) transact(ctx context.Context, f func(tx pgx.Tx) error) error {
	return refusal(pgx.BeginFunc(ctx, t.conn, f))
}
