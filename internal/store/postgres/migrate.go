package postgres

import (
	"context"
	"database/sql"
	"embed"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/schema"
	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

var errUnfinished = perdure.Errorf(perdure.Conflict,
	"a copy into this database was not finished; run perdure store copy again with the same source, or empty the database")

// firstVersion is the number of the first migration, and the version of a database after it. Some
// databases have reached this version by older migrations, which are no longer in this program.
const firstVersion = 54

// migrating is the key of the advisory lock for changing tables.
const migrating = 0x70657264757265 // "perdure"

const (
	// migrationLock is how long a migration waits for the lock of a table. Meanwhile the servers'
	// statements on that table wait as well; they fail after 10 s.
	migrationLock = "3s"
	// migrationTries is the maximum number of times that a migration is tried while locks of
	// servers block it. migrationPause is the time between two tries, in which the servers can use
	// the tables.
	migrationTries, migrationPause = 30, 500 * time.Millisecond
)

// Migrate migrates the tables of the database at url. It returns their version before and after.
// Several processes may call Migrate at once: one migrates, the others wait. Errors: as for Open.
func Migrate(ctx context.Context, url string) (from, to int64, err error) {
	return migrateFor(ctx, url, false)
}

// migrateFor does the work of Migrate. Only a caller that copies a store into the database sets
// `copy`. Other callers get an error while such a copy is unfinished, because the data is
// incomplete.
func migrateFor(ctx context.Context, url string, copy bool) (from, to int64, err error) {
	config, err := parse(url)
	if err != nil {
		return 0, 0, err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return 0, 0, unreachable(err)
	}
	defer func() { _ = conn.Close(ctx) }() // all results are read
	if err := checkServer(ctx, conn); err != nil {
		return 0, 0, refusal(err)
	}
	version, count, err := newestMigration()
	if err != nil {
		return 0, 0, err
	}
	if isAt(ctx, conn, version, count) {
		if there, err := unfinished(ctx, conn); err != nil || !there {
			return version, version, refusal(err)
		}
	}
	// Closing the connection releases the lock.
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(migrating)); err != nil {
		return 0, 0, refusal(err)
	}
	if there, err := unfinished(ctx, conn); err != nil {
		return 0, 0, refusal(err)
	} else if there && !copy {
		return 0, 0, errUnfinished
	}
	if err := relabel(ctx, conn); err != nil {
		return 0, 0, refusal(err)
	}
	config.RuntimeParams["lock_timeout"] = migrationLock
	db := stdlib.OpenDB(*config)
	defer db.Close()
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return 0, 0, err
	}
	if from, to, err = migrate(ctx, db, files); err != nil {
		return from, to, refusal(err)
	}
	return from, to, refusal(makeStore(ctx, conn))
}

// newestMigration returns the number of the newest migration, and the number of migrations.
func newestMigration() (version int64, count int, err error) {
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return 0, 0, err
	}
	all, err := fs.Glob(files, "*.sql")
	if err != nil {
		return 0, 0, err
	}
	version, err = schema.NewestMigration(files)
	return version, len(all), err
}

// relabel deletes the rows of migrations before firstVersion from goose's table of versions. A
// database that these migrations have brought to firstVersion has the same tables as a new database
// after the first migration. An older database is an error. The caller must hold the lock for
// changing tables.
func relabel(ctx context.Context, conn *pgx.Conn) error {
	var has, older int64
	err := conn.QueryRow(ctx, "SELECT coalesce(max(version_id), 0), count(*) FILTER (WHERE version_id > 0 AND version_id < $1)"+
		" FROM goose_db_version", int64(firstVersion)).Scan(&has, &older)
	switch {
	case codeOf(err) == undefinedTable:
		return nil // a new database
	case err != nil || has == 0 || older == 0:
		return err
	case has < firstVersion:
		return store.TooOld(has, firstVersion)
	}
	_, err = conn.Exec(ctx, "DELETE FROM goose_db_version WHERE version_id > 0 AND version_id < $1", int64(firstVersion))
	return err
}

// isAt reports whether the newest applied migration of the database is `version`, and whether the
// number of applied migrations is `files`. It needs one round trip and only the right to read.
func isAt(ctx context.Context, conn *pgx.Conn, version int64, files int) bool {
	var at int64
	var applied int
	err := conn.QueryRow(ctx, "SELECT max(version_id), count(DISTINCT version_id) FROM goose_db_version"+
		" WHERE is_applied AND version_id > 0 AND EXISTS (SELECT 1 FROM store)").Scan(&at, &applied)
	return err == nil && at == version && applied == files
}

// migrate runs the migrations in `files`.
func migrate(ctx context.Context, db *sql.DB, files fs.FS) (from, to int64, err error) {
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files)
	if err != nil {
		return 0, 0, err
	}
	from, to, err = provider.GetVersions(ctx)
	if err != nil {
		return 0, 0, err
	}
	if from > to {
		return from, to, perdure.Errorf(perdure.Conflict,
			"the database has version %d, this program knows versions up to %d; upgrade the program to open it", from, to)
	}
	return from, to, up(ctx, provider)
}

// up runs the missing migrations while servers are working. Each migration is a transaction, so
// after an interruption, the next call continues with the first missing one.
func up(ctx context.Context, provider *goose.Provider) error {
	return patiently(ctx, func() error {
		_, err := provider.Up(ctx)
		return err
	})
}

// patiently calls the function `do`. After a deadlock or a lock timeout, it waits for
// migrationPause and calls `do` again, up to migrationTries calls in all.
func patiently(ctx context.Context, do func() error) error {
	for tries := 1; ; tries++ {
		err := do()
		if code := codeOf(err); tries == migrationTries || code != deadlock && code != lockTimeout {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(migrationPause):
		}
	}
}
