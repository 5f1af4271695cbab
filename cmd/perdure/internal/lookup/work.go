package lookup

import (
	"context"
	"iter"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// readWork reads what terminal.Work shows about a run. It always reads the newest signals. For a
// react agent, it leaves out signals with messages that the agent has received, and adds the
// unfinished tasks if the run continues without the user. For other agents, it adds the input, the
// newest tasks and steps, and what the run waits for.
func readWork(ctx context.Context, conn *connection.Conn, x *perdure.Execution) (w terminal.Work, err error) {
	w.Signals.Local, w.Signals.Ended = x.PersistenceMode == perdure.Local, x.Status.Terminal()
	w.Signals.Newest, w.Signals.Earlier, err = newest(signalsOf(ctx, conn, x.ID), terminal.MaxShownSignals, func(s *perdure.Signal) bool {
		return x.Kind != perdure.ReactKind || s.Name != perdure.UserMessage || s.State == perdure.SignalPending
	})
	if err != nil {
		return w, err
	}
	if x.Kind == perdure.ReactKind {
		if continues(x) {
			w.Running, _, err = newest(conn.AllTasks(ctx, x.ID), terminal.MaxShownTasks, func(t *perdure.Task) bool { return !t.Step && !t.Status.Terminal() })
		}
		return w, err
	}
	if err := FetchInput(ctx, conn, x); err != nil {
		return w, err
	}
	w.Input = x.Input
	w.Tasks, w.EarlierTasks, err = newest(conn.AllTasks(ctx, x.ID), terminal.MaxShownTasks, func(*perdure.Task) bool { return true })
	if x.Status == perdure.StatusWaiting {
		w.Wait = x.Wait
	}
	return w, err
}

// newest returns the last items of a list for which the function `keep` returns true, at most
// `most` items. `before` is the number of earlier items for which `keep` returns true.
func newest[T any](list iter.Seq2[T, error], most int, keep func(T) bool) (last []T, before int, err error) {
	for item, err := range list {
		if err != nil {
			return nil, 0, err
		}
		if !keep(item) {
			continue
		}
		if last = append(last, item); len(last) > most {
			last = last[1:]
			before++
		}
	}
	return last, before, nil
}

// allOf returns the items of a list. If there are none, the result is empty but not nil.
func allOf[T any](list iter.Seq2[T, error]) ([]T, error) {
	all := []T{}
	for item, err := range list {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}

// signalsOf returns the signals of a run, oldest first. If the server has an earlier version, which
// cannot list signals, signalsOf returns none.
func signalsOf(ctx context.Context, conn *connection.Conn, run uuid.UUID) iter.Seq2[*perdure.Signal, error] {
	return func(yield func(*perdure.Signal, error) bool) {
		for s, err := range conn.Signals(ctx, run) {
			if perdure.IsCode(err, perdure.NotFound) || !yield(s, err) {
				return
			}
		}
	}
}
