package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"io/fs"
	"net/url"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/schema"
	"github.com/perdure/perdure/internal/store/sqlite/connection"
	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// firstVersion is the number of the first migration, and the version of a file after it. Some files
// have reached this version by older migrations, which are no longer in this program.
const firstVersion = 42

// migrate migrates the tables, unless they have the newest version already. It runs before the
// store's readers are opened. The migration library requires a connection pool of database/sql,
// which reads the whole schema first, so migrate first reads the version over the writer's
// connection.
func migrate(ctx context.Context, path string, writer connection.View) error {
	if newest, err := isNewest(writer); newest || err != nil {
		return err
	}
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return err
	}
	return migrateTo(ctx, path, files)
}

// migrateTo runs the migrations in `files`. Each migration is a transaction, so after an
// interruption, the next call continues with the first missing one.
func migrateTo(ctx context.Context, path string, files fs.FS) error {
	db, err := sql.Open("sqlite", connection.DSN(path, url.Values{"_pragma": {"synchronous(full)"}}))
	if err != nil {
		return err
	}
	defer db.Close()
	if err := relabel(ctx, path, db); err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files)
	if err != nil {
		return err
	}
	current, target, err := provider.GetVersions(ctx)
	if err != nil {
		return err
	}
	if current > target {
		return perdure.Errorf(perdure.Conflict,
			"the database has version %d, this program knows versions up to %d; upgrade the program to open it", current, target)
	}
	_, err = provider.Up(ctx)
	return err
}

const (
	labelsOf   = "SELECT count(*) FILTER (WHERE name = 'goose_db_version'), count(*) FROM sqlite_schema WHERE type = 'table'"
	versionsOf = "SELECT coalesce(max(version_id), 0), count(*) FILTER (WHERE version_id > 0 AND version_id < ?1) FROM goose_db_version"
)

// relabel deletes the rows of migrations before firstVersion from goose's table of versions. A file
// that these migrations have brought to firstVersion has the same tables as a new file after the
// first migration. An older file, or the database of another program, is an error.
func relabel(ctx context.Context, path string, db *sql.DB) error {
	var labels, tables int64
	err := db.QueryRowContext(ctx, labelsOf).Scan(&labels, &tables)
	switch {
	case err == nil && isForeign(labels, tables):
		return foreign(path)
	case err != nil || labels == 0:
		return err
	}
	var newest, older int64
	err = db.QueryRowContext(ctx, versionsOf, firstVersion).Scan(&newest, &older)
	switch {
	case err != nil || newest == 0 || older == 0:
		return err
	case newest < firstVersion:
		return store.TooOld(newest, firstVersion)
	}
	_, err = db.ExecContext(ctx, "DELETE FROM goose_db_version WHERE version_id > 0 AND version_id < ?1", firstVersion)
	return err
}

// isNewest reports whether the tables have the newest version, with nothing left for [relabel] to do.
func isNewest(v connection.View) (bool, error) {
	var labels, tables, version, older int64
	if _, err := v.One(labelsOf, nil, &labels, &tables); err != nil || labels == 0 {
		return false, err
	}
	newest, err := newestVersion()
	if err != nil {
		return false, err
	}
	_, err = v.One(versionsOf, []any{firstVersion}, &version, &older)
	return version == newest && older == 0, err
}

// newestVersion returns the version of the tables that this program supports.
func newestVersion() (int64, error) {
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return 0, err
	}
	return schema.NewestMigration(files)
}
