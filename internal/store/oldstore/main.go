// Command oldstore writes a store with rows in every table. It starts a server and calls it as
// clients and workers do. Before you add a migration, run oldstore from the last Git commit, and keep
// the store in testdata: see CONTRIBUTING.md, "Recipe: a column of executions with a filter".
//
//	go run ./internal/store/oldstore DIR                  # writes DIR/sqlite.db.gz
//	go run ./internal/store/oldstore DIR postgres         # writes DIR/postgres.sql.gz
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules/tenant"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/postgres"
	"github.com/perdure/perdure/internal/store/postgres/cluster"
	"github.com/perdure/perdure/internal/store/sqlite"
	"github.com/perdure/perdure/server"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		if err := os.MkdirAll(args[0], 0o755); err != nil {
			return err
		}
	}
	switch {
	case len(args) == 1:
		return writeFile(ctx, args[0])
	case len(args) == 2 && args[1] == "postgres":
		return writeDump(ctx, args[0])
	}
	return errors.New("usage: oldstore DIR [postgres]")
}

// writeFile writes a SQLite store to the directory.
func writeFile(ctx context.Context, dir string) error {
	return inFolder(func(data string) error {
		path := filepath.Join(data, "perdure.db")
		s, err := serve(ctx, data, "")
		if err != nil {
			return err
		}
		open := func(clock func() time.Time) (store.Store, error) {
			return sqlite.Open(ctx, sqlite.Options{Path: path, Clock: clock})
		}
		if err := s.fill(ctx, open, func() error { return everyTable(ctx, "sqlite", "file:"+path, sqliteTables) }); err != nil {
			return err
		}
		return compress(path, filepath.Join(dir, "sqlite.db.gz"))
	})
}

// writeDump writes a dump of a PostgreSQL store to the directory.
func writeDump(ctx context.Context, dir string) (err error) {
	c, err := cluster.Start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	url := c.URL("postgres")
	return inFolder(func(data string) error {
		s, err := serve(ctx, data, url)
		if err != nil {
			return err
		}
		open := func(clock func() time.Time) (store.Store, error) {
			return postgres.Open(ctx, postgres.Options{URL: url, Clock: clock})
		}
		file := filepath.Join(data, "dump.sql")
		err = s.fill(ctx, open, func() error {
			if err := everyTable(ctx, "pgx", url, postgresTables); err != nil {
				return err
			}
			return dump(ctx, url, file)
		})
		if err != nil {
			return err
		}
		return compress(file, filepath.Join(dir, "postgres.sql.gz"))
	})
}

func inFolder(do func(data string) error) error {
	data, err := os.MkdirTemp("", "oldstore")
	if err != nil {
		return err
	}
	return errors.Join(do(data), os.RemoveAll(data))
}

func serve(ctx context.Context, data, url string) (*scene, error) {
	s, err := server.Open(ctx, server.Config{
		Data: data, Store: url, HTTPAddr: "127.0.0.1:0", GRPCAddr: "127.0.0.1:0", Lease: time.Minute,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	if err := s.Listen(); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	return &scene{Server: s, org: "acme", worker: uuid.New(), stop: func() error { stop(); return errors.Join(<-ended, s.Close()) }}, nil
}

// fill stores data of each kind by calls of a server, and stops the server. Then it opens the store
// again. It marks an execution as being deleted, and stores a secret and a bulk action. Finally it
// calls the function `then` and closes the store. The clock of the reopened store is ahead by more
// than store.TextAge, so that the store indexes the texts of the new executions at once.
func (s *scene) fill(ctx context.Context, open func(clock func() time.Time) (store.Store, error), then func() error) error {
	err := s.play(ctx)
	if err := errors.Join(err, s.stop()); err != nil {
		return err
	}
	st, err := open(func() time.Time { return time.Now().Add(2 * store.TextAge) })
	if err != nil {
		return err
	}
	_, err = st.Do(ctx, store.Command{
		Name: "prune", Org: s.org, Lane: store.LaneSweeps, Execution: s.doomed,
		Decide: func(*store.State) (*store.Changes, error) {
			return &store.Changes{Prune: &store.Prune{Execution: true}}, nil
		},
	})
	if err == nil {
		_, err = st.Do(ctx, store.Command{
			Name: "make secret", Org: s.org, Lane: store.LaneCommits,
			Decide: func(st *store.State) (*store.Changes, error) {
				return tenant.CreateSecret(st, "sealing", []byte("32 bytes that seal nothing at all"))
			},
		})
	}
	if err == nil {
		err = s.bulk(ctx, st)
	}
	if err == nil {
		err = then()
	}
	return errors.Join(err, st.Close())
}

// bulk stores a running bulk action. A server would complete it at once, so it is written without a
// server.
func (s *scene) bulk(ctx context.Context, st store.Store) error {
	n := tenant.NewBulkAction{
		Row: perdure.BulkAction{
			ID: uuid.New(), Action: perdure.BulkCancel, Reason: "ä 😀", Statuses: []perdure.Status{perdure.StatusPending},
			IdempotencyKey: "bulk", Filter: perdure.BulkFilter{Metadata: map[string]string{"name": "doomed"}},
		},
		Executions: []uuid.UUID{s.doomed},
	}
	by := tenant.Change{Org: s.org, Action: perdure.AuditBulkCreated}
	_, err := st.Do(ctx, store.Command{
		Name: string(by.Action), Org: s.org, Lane: store.LaneCommits,
		Needs: func(*perdure.Execution) store.Needs {
			return store.Needs{BulkAction: &n.Row.ID, BulkActions: true, BulkKey: n.Row.IdempotencyKey}
		},
		Decide: func(state *store.State) (*store.Changes, error) { return tenant.StartBulkAction(state, by, n) },
	})
	return err
}
