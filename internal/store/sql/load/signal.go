package load

import (
	"cmp"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/load/contents"
	"github.com/perdure/perdure/internal/store/sql/row"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// SignalRow is a signal with its execution.
type SignalRow struct {
	Execution uuid.UUID
	*perdure.Signal
}

// SignalRows declares the rows of the table of signals.
var SignalRows = row.New("agent_signal", 2, []row.Field[SignalRow]{
	row.ID("agent_execution_id", func(x *SignalRow) *uuid.UUID { return &x.Execution }).Unread(),
	row.Text("id", func(x *SignalRow) *string { return &x.ID }),
	row.Text("signal_name", func(x *SignalRow) *string { return &x.Name }),
	row.Text("state", func(x *SignalRow) *perdure.SignalState { return &x.State }),
	row.Number("signal_order", func(x *SignalRow) *int64 { return &x.Order }),
	row.Number("taken_at", func(x *SignalRow) *int64 { return &x.TakenAt }),
	row.OptText("response_id", func(x *SignalRow) *string { return &x.ResponseID }),
	row.Time("created_at", func(x *SignalRow) *perdure.Time { return &x.CreatedAt }),
	row.OptID("sender_key_id", func(x *SignalRow) **uuid.UUID { return &x.KeyID }),
	row.Blob("value_blob", func(x *SignalRow) **perdure.BlobRef { return &x.Blob }),
}, "signal_value")

var signalSelect = "SELECT " + SignalRows.List("") + " FROM agent_signal WHERE agent_execution_id = ?"

var (
	namedPending = statement.Read(signalSelect + " AND state = 'pending' AND signal_name = ? AND signal_order > ? ORDER BY signal_order LIMIT ?")
	allPending   = statement.Read(signalSelect + " AND state = 'pending' AND signal_order > ? ORDER BY signal_order")
	// SignalsAfter selects the signals of an execution, in any state, whose Order is greater than a
	// number.
	SignalsAfter = statement.Read(signalSelect + " AND signal_order > ? AND signal_order > 0 ORDER BY signal_order LIMIT ?")
	allTaken     = statement.Read(signalSelect + " AND state = 'taken' ORDER BY taken_order")
	// SignalByID selects a signal of an execution by its id.
	SignalByID = statement.Read(signalSelect + " AND id = ?")
)

// Signals reads at most `limit` signals without their values. If `keep` is not nil, Signals reads
// only signals for whose names `keep` returns true.
func Signals(v statement.View, query *statement.Statement, args []any, limit int, keep func(name string) bool) ([]perdure.Signal, error) {
	execution := uuid.UUID(args[0].([]byte))
	var all []perdure.Signal
	err := v.Each(query, args, func(row func(...any) error) error {
		var s perdure.Signal
		err := row(SignalRows.Scan(nil, &SignalRow{Signal: &s})...)
		if err != nil || keep != nil && !keep(s.Name) {
			return err
		}
		all = append(all, s)
		if len(all) >= limit {
			return statement.ErrStop
		}
		return nil
	})
	for i := range all {
		if err == nil {
			err = contents.CompleteRef(v, execution, all[i].Blob)
		}
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Pending reads the oldest pending signals whose Order is greater than `after` and whose names
// match a pattern, without their values. If no pattern has a wildcard, it searches the index for
// each name. Otherwise it scans all signals once.
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
