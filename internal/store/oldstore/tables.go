package main

import (
	"compress/gzip"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"
)

const (
	sqliteTables   = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
	postgresTables = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_name <> 'copying'"
	patience       = time.Minute
)

// everyTable returns an error if a table of the database has no rows. Before that, it waits for the
// rows that the store writes in the background.
func everyTable(ctx context.Context, driver, name, tables string) error {
	db, err := sql.Open(driver, name)
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // it was only read
	for deadline := time.Now().Add(patience); ; time.Sleep(patience / 100) {
		err := emptyTables(ctx, db, tables)
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

func emptyTables(ctx context.Context, db *sql.DB, tables string) error {
	rows, err := db.QueryContext(ctx, tables)
	if err != nil {
		return err
	}
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	var empty error
	for _, name := range names {
		var some bool
		if err := db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+name+")").Scan(&some); err != nil {
			return err
		}
		if !some {
			empty = errors.Join(empty, fmt.Errorf("%s is empty", name))
		}
	}
	return empty
}

// dump writes a database as SQL, with the pg_dump of the newest PostgreSQL of this machine.
func dump(ctx context.Context, url, file string) error {
	program := "pg_dump"
	if found, err := filepath.Glob("/usr/lib/postgresql/*/bin/pg_dump"); err == nil && len(found) > 0 {
		program = found[len(found)-1]
	}
	out, err := exec.CommandContext(ctx, program, "--no-owner", "--no-privileges", "--rows-per-insert=100", "--file="+file, "--dbname="+url).CombinedOutput()
	if err != nil {
		return fmt.Errorf("pg_dump: %w: %s", err, out)
	}
	return nil
}

func compress(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // it was only read
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	z, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	_, err = io.Copy(z, in)
	return errors.Join(err, z.Close(), out.Close())
}
