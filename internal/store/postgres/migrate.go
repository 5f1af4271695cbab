package postgres

import (
	"context"
	"database/sql"
	"embed"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/perdure/perdure"
	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

var errUnfinished = perdure.Errorf(perdure.Conflict,
	"a copy into this database was not finished; run perdure store copy again with the same source, or empty the database")

// migrating is the number of the lock under which tables are changed.
const migrating = 0x70657264757265 // "perdure"

const (
	// migrationLock is how long a migration waits for a table: what servers do waits
	// behind it, and waits for 10 s at most.
	migrationLock = "3s"
	// migrationTries is how often it is tried where servers were in its way, and
	// migrationPause how long they have to themselves in between.
	migrationTries, migrationPause = 30, 500 * time.Millisecond
)

// Migrate brings the tables of the database at url up to date, and returns the
// version that they had and the one that they have. Many may do so at once: one
// does it, the others wait. Errors are those of Open.
func Migrate(ctx context.Context, url string) (from, to int64, err error) {
	return migrateFor(ctx, url, false)
}

// migrateFor is Migrate, for a copy or for anybody else: where a copy has begun
// and has not ended, they would find half of what there is.
func migrateFor(ctx context.Context, url string, copy bool) (from, to int64, err error) {
	config, err := parse(url)
	if err != nil {
		return 0, 0, err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return 0, 0, unreachable(err)
	}
	defer func() { _ = conn.Close(ctx) }() // what was asked for is there
	if err := checkServer(ctx, conn); err != nil {
		return 0, 0, refusal(err)
	}
	if version, files, known := newestMigration(); known && isAt(ctx, conn, version, files) {
		if there, err := unfinished(ctx, conn); err != nil || !there {
			return version, version, refusal(err)
		}
	}
	// It is given back with the connection.
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(migrating)); err != nil {
		return 0, 0, refusal(err)
	}
	if there, err := unfinished(ctx, conn); err != nil {
		return 0, 0, refusal(err)
	} else if there && !copy {
		return 0, 0, errUnfinished
	}
	config.RuntimeParams["lock_timeout"] = migrationLock
	db := stdlib.OpenDB(*config)
	defer db.Close()
	if from, to, err = migrate(ctx, db); err != nil {
		return from, to, refusal(err)
	}
	if err := placeEntries(ctx, conn); err != nil {
		return from, to, refusal(err)
	}
	return from, to, refusal(makeStore(ctx, conn))
}

// newestMigration returns the number of the last file, and how many there are.
func newestMigration() (version int64, files int, known bool) {
	all, err := migrationFiles.ReadDir("migrations")
	if err != nil || len(all) == 0 {
		return 0, 0, false
	}
	number, _, _ := strings.Cut(all[len(all)-1].Name(), "_")
	version, err = strconv.ParseInt(number, 10, 64)
	return version, len(all), err == nil
}

// isAt reports whether there is nothing to do, in one round trip and with no right
// but to read.
func isAt(ctx context.Context, conn *pgx.Conn, version int64, files int) bool {
	var at int64
	var applied int
	err := conn.QueryRow(ctx, "SELECT max(version_id), count(DISTINCT version_id) FROM goose_db_version"+
		" WHERE is_applied AND version_id > 0 AND EXISTS (SELECT 1 FROM store) AND to_regclass('"+placesIndex+"') IS NOT NULL").Scan(&at, &applied)
	return err == nil && at == version && applied == files
}

func migrate(ctx context.Context, db *sql.DB) (from, to int64, err error) {
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return 0, 0, err
	}
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

// up brings the tables up to date beside servers that work. Each migration is a
// transaction, so it continues where it was.
func up(ctx context.Context, provider *goose.Provider) error {
	return patiently(ctx, func() error {
		_, err := provider.Up(ctx)
		return err
	})
}

// patiently does what servers may be in the way of.
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
