package server

import (
	"context"
	"log/slog"
	"math"
	"path/filepath"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/store/sqlite"
)

// Core is the inside of a server: its rules over a real store, without a
// transport and without a loop of its own. The program that opened it calls
// Sweep whenever something may have come due; nothing happens by itself, so
// time may be virtual. agent/agenttest runs agents on it.
type Core struct {
	*engine.Engine
	store *sqlite.Store
}

// CoreFile is the name of the database in the folder of a Core. A copy of one
// that was closed opens faster than an empty folder.
const CoreFile = "perdure.db"

// OpenCore opens what is in the folder c.Data, which must be there. Of c, Data,
// Lease, PayloadLimit, Logger and Clock count.
func OpenCore(ctx context.Context, c Config) (*Core, error) {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	store, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(c.Data, CoreFile), Logger: c.Logger, Clock: c.Clock})
	if err != nil {
		return nil, err
	}
	return &Core{store: store, Engine: engine.New(engine.Config{
		Store: store, Logger: c.Logger, Lease: c.Lease, PayloadLimit: c.PayloadLimit,
		// A cancel reaches the agent with a heartbeat, a third of the lease apart.
		CancelGrace: c.Lease,
		// Hints in one process are never lost: nobody has to look without one.
		Tick: time.Duration(math.MaxInt64),
	})}, nil
}

// Dispatch gives what a worker in this process speaks to. ReturnEmbedded takes
// its leases back.
func (c *Core) Dispatch(org string) perdure.Dispatch { return c.Engine.Dispatch(org, true) }

// Close closes the store.
func (c *Core) Close() error { return c.store.Close() }
