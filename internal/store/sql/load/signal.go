package load

import (
	"cmp"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

const (
	signalColumns = "id, signal_name, state, signal_order, taken_at, response_id, created_at, value_blob"
	signalFrom    = " FROM agent_signal WHERE agent_execution_id = ?"
)

var (
	namedPending = statement.Read("SELECT " + signalColumns + signalFrom + " AND state = 'pending' AND signal_name = ? AND signal_order > ? ORDER BY signal_order LIMIT ?")
	allPending   = statement.Read("SELECT " + signalColumns + signalFrom + " AND state = 'pending' AND signal_order > ? ORDER BY signal_order")
	allTaken     = statement.Read("SELECT " + signalColumns + signalFrom + " AND state = 'taken' ORDER BY taken_order")
	// SignalByID selects a signal by its id.
	SignalByID = statement.Read("SELECT " + signalColumns + signalFrom + " AND id = ?")
)

// Signals reads at most limit signals without their values. It reads only those whose name keep
// accepts (nil: all).
func Signals(v statement.View, query *statement.Statement, args []any, limit int, keep func(name string) bool) ([]perdure.Signal, error) {
	execution := uuid.UUID(args[0].([]byte))
	var (
		all   []perdure.Signal
		blobs []*uuid.UUID
	)
	err := v.Each(query, args, func(row func(...any) error) error {
		var (
			s    perdure.Signal
			blob *uuid.UUID
		)
		err := row(&s.ID, &s.Name, column.TextInto(&s.State), &s.Order, &s.TakenAt, column.TextInto(&s.ResponseID), column.TimeInto(&s.CreatedAt), column.OptIDInto(&blob))
		if err != nil || keep != nil && !keep(s.Name) {
			return err
		}
		all, blobs = append(all, s), append(blobs, blob)
		if len(all) >= limit {
			return statement.ErrStop
		}
		return nil
	})
	for i := range all {
		if err != nil {
			return nil, err
		}
		all[i].Blob, err = Ref(v, execution, blobs[i])
	}
	return all, err
}

// Pending reads the pending signals that match any of the patterns and follow the order after,
// oldest first, without their values. Names are looked up in the index; for patterns, one scan
// serves all of them.
func Pending(v statement.View, execution uuid.UUID, patterns []string, after int64, limit int) ([]perdure.Signal, error) {
	if slices.ContainsFunc(patterns, perdure.IsPattern) {
		return Signals(v, allPending, []any{execution[:], after}, limit, func(name string) bool {
			return slices.ContainsFunc(patterns, func(p string) bool { return perdure.MatchName(p, name) })
		})
	}
	names := slices.Compact(slices.Sorted(slices.Values(patterns)))
	var all []perdure.Signal
	for _, name := range names {
		some, err := Signals(v, namedPending, []any{execution[:], name, after, limit}, limit, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortFunc(all, func(a, b perdure.Signal) int { return cmp.Compare(a.Order, b.Order) })
	return all[:min(len(all), limit)], nil
}

// Taken reads the signals that are taken and not consumed, in the order in which they were
// taken, without their values.
func Taken(v statement.View, execution uuid.UUID) ([]perdure.Signal, error) {
	return Signals(v, allTaken, []any{execution[:]}, 1<<30, nil)
}
