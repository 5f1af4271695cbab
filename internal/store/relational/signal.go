package relational

import (
	"cmp"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// pendingLimit is the maximum number of pending signals that a decision receives, in addition to
// those that it names itself.
const pendingLimit = 1000

var insertSignal = insert("agent_signal", "agent_execution_id, id, signal_name, state, signal_order, taken_at, response_id, created_at, value_blob, signal_value")

func putSignal(v view, execution uuid.UUID, s *perdure.Signal, now perdure.Time) error {
	state := s.State
	if state == "" {
		state = perdure.SignalPending
	}
	body := planContent(s.Value, s.Blob)
	err := v.write(insertSignal, execution[:], s.ID, s.Name, string(state), s.Order, s.TakenAt, optText(s.ResponseID),
		millis(s.CreatedAt), refID(body.ref), body.column())
	if err != nil {
		return err
	}
	return spill(v, execution, now, body)
}

var (
	takeSignal = alone("UPDATE agent_signal SET state = 'taken', taken_at = ?2, taken_order =" +
		" (SELECT coalesce(max(taken_order), 0) + 1 FROM agent_signal WHERE agent_execution_id = ?1 AND state = 'taken')" +
		" WHERE agent_execution_id = ?1 AND id = ?3 AND state = 'pending'")
	consumeSignals = update("agent_signal", Terms{}.fixed("state", "= 'consumed'"), columns("agent_execution_id").fixed("state", "= 'taken'"))
)

const (
	signalColumns = "id, signal_name, state, signal_order, taken_at, response_id, created_at, value_blob"
	signalFrom    = " FROM agent_signal WHERE agent_execution_id = ?"
)

var (
	namedPending = read("SELECT " + signalColumns + signalFrom + " AND state = 'pending' AND signal_name = ? AND signal_order > ? ORDER BY signal_order LIMIT ?")
	allPending   = read("SELECT " + signalColumns + signalFrom + " AND state = 'pending' AND signal_order > ? ORDER BY signal_order")
	allTaken     = read("SELECT " + signalColumns + signalFrom + " AND state = 'taken' ORDER BY taken_order")
	signalByID   = read("SELECT " + signalColumns + signalFrom + " AND id = ?")
	signalValue  = read("SELECT signal_value FROM agent_signal WHERE agent_execution_id = ? AND id = ?")
)

// loadSignals reads at most limit signals without their values. It reads only those whose name keep
// accepts (nil: all).
func loadSignals(v view, query *Statement, args []any, limit int, keep func(name string) bool) ([]perdure.Signal, error) {
	execution := uuid.UUID(args[0].([]byte))
	var (
		all   []perdure.Signal
		blobs []*uuid.UUID
	)
	err := v.each(query, args, func(row func(...any) error) error {
		var (
			s    perdure.Signal
			blob *uuid.UUID
		)
		err := row(&s.ID, &s.Name, textInto(&s.State), &s.Order, &s.TakenAt, textInto(&s.ResponseID), timeInto(&s.CreatedAt), optIDInto(&blob))
		if err != nil || keep != nil && !keep(s.Name) {
			return err
		}
		all, blobs = append(all, s), append(blobs, blob)
		if len(all) >= limit {
			return ErrStop
		}
		return nil
	})
	for i := range all {
		if err != nil {
			return nil, err
		}
		all[i].Blob, err = loadRef(v, execution, blobs[i])
	}
	return all, err
}

// loadPending reads the pending signals that match any of the patterns and follow the order after,
// oldest first, without their values. Names are looked up in the index; for patterns, one scan
// serves all of them.
func loadPending(v view, execution uuid.UUID, patterns []string, after int64, limit int) ([]perdure.Signal, error) {
	if slices.ContainsFunc(patterns, perdure.IsPattern) {
		return loadSignals(v, allPending, []any{execution[:], after}, limit, func(name string) bool {
			return slices.ContainsFunc(patterns, func(p string) bool { return perdure.MatchName(p, name) })
		})
	}
	names := slices.Compact(slices.Sorted(slices.Values(patterns)))
	var all []perdure.Signal
	for _, name := range names {
		some, err := loadSignals(v, namedPending, []any{execution[:], name, after, limit}, limit, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortFunc(all, func(a, b perdure.Signal) int { return cmp.Compare(a.Order, b.Order) })
	return all[:min(len(all), limit)], nil
}

// loadTaken reads the signals that are taken and not consumed, in the order in which they were
// taken, without their values.
func loadTaken(v view, execution uuid.UUID) ([]perdure.Signal, error) {
	return loadSignals(v, allTaken, []any{execution[:]}, 1<<30, nil)
}

// loadValues loads the values of signals, up to about limit bytes, but at least one value. It
// returns the signals whose values it loaded.
func loadValues(v view, join joiner, execution uuid.UUID, signals []perdure.Signal, limit int64) ([]perdure.Signal, error) {
	var bytes int64
	for i := range signals {
		s := &signals[i]
		if _, err := v.one(signalValue, []any{execution[:], s.ID}, rawInto(&s.Value)); err != nil {
			return nil, err
		}
		if err := join(v, execution, &s.Value, &s.Blob); err != nil {
			return nil, err
		}
		if bytes += (perdure.Payload{Bytes: s.Value, Blob: s.Blob}).Size(); bytes > limit {
			return signals[:i+1], nil
		}
	}
	return signals, nil
}
