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

// Core is a server without transports and background loops: the engine over an SQLite store. It
// runs no sweeps by itself: the program that opened the Core calls Sweep when timers or leases may
// have expired. The clock of a Core may be virtual, because no loop in the Core waits for real
// time. Package agent/agenttest runs agents on a Core.
type Core struct {
	*engine.Engine
	store *sqlite.Store
}

// CoreFile is the name of the database in the folder of a Core. OpenCore is faster if the folder
// already contains a copy of a closed Core's database, because the tables then exist.
const CoreFile = "perdure.db"

// OpenCore opens the store in the folder c.Data, which must exist. It uses only Data, Lease,
// PayloadLimit, Logger and Clock of c.
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
		// Within one lease a worker learns of a cancel: it sends a heartbeat every third of the
		// lease, and the reply reports the cancel.
		CancelGrace: c.Lease,
		// Hints within one process are never lost, so no polling is needed.
		Tick: time.Duration(math.MaxInt64),
	})}, nil
}

// Dispatch returns the API for a worker in this process.
func (c *Core) Dispatch(org string) perdure.Dispatch { return c.Engine.Dispatch(org, true) }

// Close closes the store.
func (c *Core) Close() error { return c.store.Close() }
