package bench

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/internal/store/postgres/cluster"
)

// stores creates the databases of measured servers, one for each server.
type stores struct {
	folder  string
	plain   bool // servers run without the optimizations of their store
	cluster *cluster.Cluster
}

// begin prepares the creation of databases in the named store: "sqlite", "postgres" or a URL of
// PostgreSQL. It returns the version of PostgreSQL. For SQLite it returns `known`, the version that
// an earlier call has returned.
func (s *stores) begin(ctx context.Context, name, known string) (string, error) {
	if name == "sqlite" {
		return known, nil
	}
	if name == "postgres" && s.cluster == nil {
		var err error
		// These settings are for a small machine, which PostgreSQL shares with the measured servers.
		if s.cluster, err = cluster.Start("shared_buffers=256MB", "max_wal_size=2GB", "autovacuum_naptime=1min"); err != nil {
			return known, err
		}
	}
	return postgresVersion(ctx, s.admin(name))
}

func (s *stores) close() error {
	if s.cluster == nil {
		return nil
	}
	return s.cluster.Stop()
}

// admin returns the URL of an existing PostgreSQL database. The benchmark connects to this database
// to create other databases.
func (s *stores) admin(name string) string {
	if name == "postgres" {
		return s.cluster.URL("postgres")
	}
	return name
}

// database is the database of one measured server.
type database struct {
	folder string // the server's data directory
	url    string // URL of the database; "" means a file in folder
	admin  string
	name   string
	pid    int // process id of PostgreSQL, if this program started it
}

// create creates an empty database.
func (s *stores) create(ctx context.Context, store string) (*database, error) {
	d := &database{}
	var err error
	if d.folder, err = os.MkdirTemp(s.folder, "data-"); err != nil {
		return nil, err
	}
	if store == "sqlite" {
		return d, nil
	}
	d.admin, d.name = s.admin(store), "perdure_bench_"+strings.ReplaceAll(uuid.NewString(), "-", "")
	at, err := url.Parse(d.admin)
	if err != nil {
		return nil, err
	}
	at.Path = "/" + d.name
	d.url = at.String()
	if s.cluster != nil && store == "postgres" {
		d.pid = s.cluster.PID()
	}
	if err := execute(ctx, d.admin, "CREATE DATABASE "+d.name+" TEMPLATE template0 ENCODING 'UTF8'"); err != nil {
		return nil, fmt.Errorf("a database to measure with cannot be made: %w", err)
	}
	return d, nil
}

// drop removes the database.
func (d *database) drop() error {
	var err error
	if d.url != "" {
		err = execute(context.Background(), d.admin, "DROP DATABASE "+d.name+" WITH (FORCE)")
	}
	return errors.Join(err, os.RemoveAll(d.folder))
}

func execute(ctx context.Context, url, sql string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }() // all queries are done
	_, err = conn.Exec(ctx, sql)
	return err
}
