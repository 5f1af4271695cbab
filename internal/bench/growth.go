package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

// growth is W6: the react agent with a model that calls a tool in each turn. A turn has 1 KiB of text
// and a tool result of 1 KiB. The benchmark compares the bytes that the turns store early and late in
// the conversation.
func growth(ctx context.Context, b *bench) error {
	window := pick(b, 4, 50)
	return b.on(ctx, deploymentSpec{slots: 8}, func(s *deployment) error {
		many := 1 << 20
		_, err := s.api.Start(s.ctx, client.StartRequest{
			UserPrompt: "go", Tools: &[]string{lookUp.Name}, Config: perdure.AgentConfig{MaxTurns: &many},
			Models: []perdure.ModelConfig{{Provider: providerName, ModelID: turnsModel}},
		})
		if err != nil {
			return err
		}
		for _, after := range pick(b, []int{2, 10}, []int{10, 1000}) {
			if err := s.worker.ask("go on", workerArgs{N: after}, nil); err != nil {
				return err
			}
			var f Figures
			if err := s.turnsOf(ctx, after, window, &f); err != nil {
				return err
			}
			b.add(fmt.Sprintf("after %d turns", after), f)
		}
		return s.worker.ask("go on", workerArgs{N: many}, nil) // so that the worker can stop
	})
}

// turnsOf skips the first `after` turns, measures the next `window` turns, and adds the results to
// f.
func (s *deployment) turnsOf(ctx context.Context, after, window int, f *Figures) error {
	before, err := s.countAfter(ctx, after)
	if err != nil {
		return err
	}
	if err := s.worker.ask("go on", workerArgs{N: after + window}, nil); err != nil {
		return err
	}
	end, err := s.countAfter(ctx, after+window)
	if err != nil {
		return err
	}
	perTurn := func(n int64) float64 { return float64(n) / 1024 / float64(window) }
	f.add("KiB stored/turn", perTurn(end.stored-before.stored))
	f.add("KiB written/turn", perTurn(end.written-before.written))
	ours, _ := s.cpu(before.cost, end.cost)
	f.add("CPU ms/turn", float64(ours.Microseconds())/1000/float64(window))
	return nil
}

// growthSample contains the resource usage and the sizes at one time.
type growthSample struct {
	cost
	stored, written int64 // sizes in bytes
}

// countAfter waits until the given number of turns has ended, and returns the costs and sizes at that
// time.
func (s *deployment) countAfter(ctx context.Context, turns int) (c growthSample, err error) {
	if err := s.worker.ask("reach", workerArgs{N: turns}, nil); err != nil {
		return c, err
	}
	if c.cost, err = s.cost(); err != nil {
		return c, err
	}
	c.written = c.Server.Written
	if s.database.url == "" {
		c.stored, err = pagesOf(ctx, filepath.Join(s.database.folder, "perdure.db"))
		return c, err
	}
	// For PostgreSQL, the written bytes are the bytes of its write-ahead log.
	if err := query(ctx, s.database.url, "SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint", &c.written); err != nil {
		return c, err
	}
	return c, query(ctx, s.database.url, "SELECT pg_database_size(current_database())", &c.stored)
}

// pagesOf returns the total size in bytes of those pages of a SQLite file that are in use.
func pagesOf(ctx context.Context, path string) (int64, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		return 0, err
	}
	var size, all, free int64
	for name, into := range map[string]*int64{"page_size": &size, "page_count": &all, "freelist_count": &free} {
		if err := db.QueryRowContext(ctx, "PRAGMA "+name).Scan(into); err != nil {
			return 0, errors.Join(err, db.Close())
		}
	}
	return size * (all - free), db.Close()
}
