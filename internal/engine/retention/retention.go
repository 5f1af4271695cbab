// Package retention deletes data whose retention has ended: executions, checkpoints, logs, deliveries,
// links to questions and sessions. It deletes little in each command, so that other writes can run in
// between.
package retention

import (
	"context"
	"log/slog"
	"time"

	"github.com/perdure/perdure/internal/engine/tenants"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// Config configures a [Pruner]. All fields are required.
type Config struct {
	Store store.Store
	// Do runs a command. The result has one Decision for each execution that the command has
	// changed.
	Do func(context.Context, store.Command) ([]*rules.Decision, error)
	// Tenants provides the retention policies, and deletes expired deliveries and sessions.
	Tenants *tenants.Tenants
	Logger  *slog.Logger
	// Every is the interval between two sweeps.
	Every time.Duration
}

// Pruner deletes expired data on request, and at intervals.
type Pruner struct{ Config }
