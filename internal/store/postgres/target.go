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
	"github.com/perdure/perdure/internal/store/sql/schema"
)

// Target is a database into which a whole store is copied. While the copy is unfinished, no server
// can open a store there.
type Target struct {
	conn     *pgx.Conn
	warnings warnings
	tables   []schema.Table
}

// Copying describes a copy of a store into this database that has begun and is not finished.
type Copying struct {
	ID uuid.UUID `json:"id"`
	// Source identifies the copied store. MadeAt is the time at which that store was created, in
	// Unix milliseconds.
	Source string `json:"source"`
	MadeAt int64  `json:"madeAt"`
	// Keep reports whether the source remains in use after the copy.
	Keep bool `json:"keep"`
}

// copying is the key of the advisory lock that a copy holds while it fills a database. A table with
// the name "copying" exists from the beginning of the copy to its end.
const copying = 0x70657264757266

// OpenTarget connects to the database at url and migrates its tables. Until the copy is finished,
// servers do not migrate these tables. Errors: as for Open, and conflict while another copy or a
// server uses the database.
func OpenTarget(ctx context.Context, url string) (*Target, error) {
	if _, _, err := migrateFor(ctx, url, true); err != nil {
		return nil, err
	}
	config, err := parse(url)
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["application_name"] = "perdure store copy"
	// Only the last transaction of the copy has to wait for the disk. When it is durable, all
	// earlier ones are durable, too.
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

// serving is the key of an advisory lock that excludes servers during a copy. Each connection of a
// server acquires the lock in shared mode, and a copy acquires it exclusively. Application names
// cannot tell servers from copies, because the URL of the database can set any application name.
const serving = 0x70657264737276

// take excludes other copies and servers from the database. If an earlier copy was interrupted, the
// database may not have closed that copy's connection yet; take waits up to 3 s for that.
func (t *Target) take(ctx context.Context) error {
	_, err := t.conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(copying))
	if codeOf(err) == lockTimeout {
		return &perdure.Error{Code: perdure.Conflict, Message: "another copy into this database is under way", Err: err}
	}
	if err != nil {
		return refusal(err)
	}
	return t.lockOutServers(ctx)
}

// lockOutServers excludes servers from the database. It tries again for a short time, because the
// database may not yet have closed the connections of a server that has ended. It does not wait for
// the lock, because that would block new connections of running servers.
func (t *Target) lockOutServers(ctx context.Context) error {
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

// Tables returns every table with stored data. Each table follows the tables to which it refers.
// Tables that describe the database itself are left out.
func (t *Target) Tables() []schema.Table { return t.tables }

// Unfinished returns the copy into this database that has begun and is not finished; nil if there
// is none.
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

// Empty reports whether the database contains no data of a store.
func (t *Target) Empty(ctx context.Context) (bool, error) {
	for _, table := range t.tables {
		var any bool
		where := ""
		if table.Name == "org" {
			where = " WHERE id <> 'default' OR disabled_at IS NOT NULL" // a new database contains that org
		}
		if err := t.conn.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM "+table.Name+where+")").Scan(&any); err != nil || any {
			return false, refusal(err)
		}
	}
	return true, nil
}

// Epoch returns the epoch that the method Epoch of a [Store] would return for this database.
func (t *Target) Epoch(ctx context.Context) (uint64, error) {
	epoch, err := readEpoch(ctx, t.conn)
	return epoch, refusal(err)
}

// Begin deletes all rows that the copy would replace, and excludes servers from the database until
// Finish.
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

func emptyTable(ctx context.Context, tx pgx.Tx, table schema.Table) error {
	var any bool
	err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM "+table.Name+")").Scan(&any)
	if err != nil || !any {
		return err
	}
	_, err = tx.Exec(ctx, "TRUNCATE "+table.Name+" CASCADE")
	return err
}

// Progress returns the note that the last Put for a table has stored. If there was no Put for the
// table, the note is "".
func (t *Target) Progress(ctx context.Context, table string) (note string, err error) {
	err = t.conn.QueryRow(ctx, "SELECT progress FROM copying WHERE table_name = $1", table).Scan(&note)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return note, refusal(err)
}

// Put inserts rows into a table and stores a note on the progress of the table, both in one
// transaction. The values of a row are in the order of the table's columns.
func (t *Target) Put(ctx context.Context, table schema.Table, rows [][]any, note string) error {
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

// Rows calls `take` with every row of a table, in any order, and stops at an error of `take`.
// Values have the types that [sqlite.Source.Rows] uses. A row is valid only until `take` returns.
func (t *Target) Rows(ctx context.Context, table schema.Table, take func(row []any) error) error {
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

// plainValue converts a value from PostgreSQL to the type that SQLite would return for the same
// data.
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

// Finish ends the copy, so that servers can open the store. If `epoch` is not 0, it becomes the
// epoch of the store, so that cursors of the source remain valid. Otherwise the store gets a new
// epoch, and readers with older cursors start from the beginning. After an error of Finish, the
// copy may or may not be finished.
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
			if err := resetSequence(ctx, tx, table); err != nil {
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

// resetSequence sets the sequence of a table, if the table has one, to the highest stored number.
func resetSequence(ctx context.Context, tx pgx.Tx, table schema.Table) error {
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

// Tidy updates the database's statistics.
func (t *Target) Tidy(ctx context.Context) error {
	_, err := t.conn.Exec(ctx, "ANALYZE")
	return refusal(err)
}

// Close closes the connection.
func (t *Target) Close() error { return t.conn.Close(context.Background()) }

func (t *Target) transact(ctx context.Context, f func(tx pgx.Tx) error) error {
	return refusal(pgx.BeginFunc(ctx, t.conn, f))
}
