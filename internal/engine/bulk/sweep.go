package bulk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/rules/tenant"
	"github.com/perdure/perdure/internal/store"
)

// Keep continues the running actions until ctx ends. Every server must call Keep.
func (a *Actions) Keep(ctx context.Context) {
	hints, unsubscribe := a.Hints.Subscribe(notify.BulkActions)
	defer unsubscribe()
	tick := time.NewTicker(a.Tick)
	defer tick.Stop()
	for {
		if err := a.Sweep(ctx); err != nil && ctx.Err() == nil {
			a.Logger.Error("bulk actions could not be continued", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-hints:
		case <-tick.C:
		}
	}
}

// Sweep continues all actions until none is running. It alternates between the actions, so that a
// large one does not delay the others.
func (a *Actions) Sweep(ctx context.Context) error {
	for {
		some, err := a.round(ctx)
		if err != nil || !some {
			return err
		}
	}
}

// round handles some executions of each running action, and reports whether any action was running.
// An error of one action does not stop the other actions.
func (a *Actions) round(ctx context.Context) (some bool, err error) {
	var last *perdure.BulkAction
	var errs []error
	for {
		page, err := a.Store.RunningBulk(ctx, last, listPage)
		if err != nil {
			return false, errors.Join(append(errs, err)...)
		}
		for _, action := range page {
			if err := a.step(ctx, action); err != nil {
				errs = append(errs, fmt.Errorf("bulk action %s: %w", action.ID, err))
			}
		}
		if len(page) < listPage {
			return some || len(page) > 0, errors.Join(errs...)
		}
		some, last = true, page[len(page)-1]
	}
}

// step handles the next executions of an action. Another server may handle some of them at the same
// time.
func (a *Actions) step(ctx context.Context, action *perdure.BulkAction) error {
	ids, err := a.Store.BulkExecutions(ctx, action.Org, action.ID)
	if err != nil {
		return err
	}
	for range stepTurns {
		at := action.Handled()
		if action.Status != perdure.BulkRunning || at >= len(ids) {
			return nil
		}
		if action, err = a.turn(ctx, action, at, ids[at]); err != nil || action == nil {
			return err
		}
	}
	return nil
}

// turn runs the action's command on one execution, unless another server has done so. The parameter
// `at` is the number of the execution in the action, from 0. The result is the updated action, or nil
// if the action was deleted.
func (a *Actions) turn(ctx context.Context, action *perdure.BulkAction, at int, execution uuid.UUID) (*perdure.BulkAction, error) {
	t := tenant.BulkTurn{Action: action.ID, At: at, Execution: execution}
	if action.Action == perdure.BulkRetry {
		var err error
		if t.Retry, err = a.retry(ctx, action, execution); err != nil {
			return nil, err
		}
	}
	after, err := a.One(ctx, store.Command{
		Name: "bulk action", Lane: store.LaneSweeps, Org: action.Org, Execution: execution,
		Needs:  func(x *perdure.Execution) store.Needs { return t.Needs(action.Action, x) },
		Decide: func(s *store.State) (*store.Changes, error) { return tenant.TakeBulkTurn(s, a.Rules(), t) },
	})
	if err != nil {
		return nil, err
	}
	row, _ := after.(*perdure.BulkAction)
	return row, nil
}

// retry returns the signal that an action with the command retry sends to an execution. The
// signal's id is the action's id, so each execution gets the signal at most once.
func (a *Actions) retry(ctx context.Context, action *perdure.BulkAction, execution uuid.UUID) (rules.NewSignal, error) {
	n, err := a.Signal(ctx, action.Org, execution, perdure.RetrySignal, action.ID.String())
	n.KeyID = action.KeyID
	return n, err
}
