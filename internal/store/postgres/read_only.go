package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/read"
	"github.com/perdure/perdure/internal/store/sql/read/base"
	"github.com/perdure/perdure/internal/store/turns"
)

// ReadOnly is a store that is opened only for reading. Servers may have it open at the same time.
type ReadOnly struct {
	read.Reader
	store *Store
}

// OpenReadOnly connects to the database at url for reading. Errors: unavailable if the database
// cannot be reached; not_found if it contains no store; conflict if the tables have another version
// than the tables that this program reads, or if a copy of a store into the database is unfinished.
func OpenReadOnly(ctx context.Context, url string) (*ReadOnly, error) {
	db, err := newDatabase(url, func(error) {})
	if err != nil {
		return nil, err
	}
	db.config.ValidateConnect = nil // a standby may be used, because nothing is written
	if err := checkVersion(ctx, db.config); err != nil {
		return nil, refusal(err)
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.ConnConfig, config.MaxConns = db.config.Copy(), 1
	config.ConnConfig.RuntimeParams["application_name"] = "perdure store check"
	config.ConnConfig.RuntimeParams["statement_timeout"] = "0" // some statements read whole tables
	s := &Store{db: db, turns: turns.New(1, 1), clock: &clock{}}
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, err
	}
	return &ReadOnly{Reader: read.New(base.Source{Tx: s.read, Clock: s.clock.Now, Dialect: dialect}), store: s}, nil
}

// checkVersion returns an error if the tables of the database have another version than the tables
// that this program reads.
func checkVersion(ctx context.Context, config *pgx.ConnConfig) error {
	conn, err := pgx.ConnectConfig(ctx, config.Copy())
	if err != nil {
		return unreachable(err)
	}
	defer func() { _ = conn.Close(ctx) }() // all results are read
	if there, err := unfinished(ctx, conn); err != nil {
		return err
	} else if there {
		return errUnfinished
	}
	var has int64
	if err := conn.QueryRow(ctx, "SELECT coalesce(max(version_id), 0) FROM goose_db_version").Scan(&has); err != nil {
		if codeOf(err) == undefinedTable {
			return perdure.Errorf(perdure.NotFound, "there is no store in this database")
		}
		return err
	}
	newest, _, err := newestMigration()
	if err != nil {
		return err
	}
	if has == newest {
		return nil
	}
	if has < firstVersion {
		return store.TooOld(has, firstVersion)
	}
	return perdure.Errorf(perdure.Conflict, "the database has version %d, this program reads version %d; perdure migrate changes it", has, newest)
}

// Integrity does nothing: the database checks its own pages if it was created with checksums.
func (l *ReadOnly) Integrity(context.Context) ([]string, error) { return nil, nil }

// Close closes the connections.
func (l *ReadOnly) Close() error {
	l.store.pool.Close()
	return nil
}
