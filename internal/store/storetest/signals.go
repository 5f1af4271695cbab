package storetest

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var signalTests = map[string]func(*fixture){
	"every field of a signal comes back":                   signalFields,
	"signals are taken in order and consumed":              signalsTaken,
	"signals in any state are listed oldest first":         signalsListed,
	"a local execution's signals are erased when consumed": signalsErased,
}

func signalFields(f *fixture) {
	id := f.start()
	sent := []perdure.Signal{
		{ID: "s-1", Name: "a.b", Value: json.RawMessage(`{"text": "x"}`), State: perdure.SignalPending, ResponseID: "r", CreatedAt: milestone(1), Order: 1},
		{ID: "s-2", Name: "c", Value: json.RawMessage(`null`), State: perdure.SignalPending, CreatedAt: milestone(2), Order: 2},
	}
	f.change(id, func(*store.State) *store.Changes { return &store.Changes{Signals: sent} })
	got, err := f.s.PendingSignals(f.ctx, id, nil, 0, 10)
	f.must(err)
	f.equal("the signals", got, sent)
	bare := sent[0]
	bare.Value = nil
	state := f.look(id, store.Needs{SignalIDs: []string{"s-1", "s-9"}, Patterns: []string{"a.*"}})
	f.equal("the signals by id", state.Signals, map[string]*perdure.Signal{"s-1": &bare})
	f.equal("the pending signals", state.Pending, []perdure.Signal{bare})
}

func (f *fixture) signals(id uuid.UUID, names ...string) {
	f.Helper()
	f.change(id, func(s *store.State) *store.Changes {
		var ch store.Changes
		for _, name := range names {
			s.Execution.NextSignal++
			ch.Signals = append(ch.Signals, perdure.Signal{
				ID: "s" + string(rune('0'+s.Execution.NextSignal)), Name: name, Value: json.RawMessage(`1`), State: perdure.SignalPending,
				CreatedAt: s.Now, Order: s.Execution.NextSignal,
			})
		}
		ch.Execution = s.Execution
		return &ch
	})
}

func ids(signals []perdure.Signal) (all []string) {
	for _, s := range signals {
		all = append(all, s.ID)
	}
	return all
}

func signalsTaken(f *fixture) {
	id := f.start()
	f.signals(id, "a", "b", "a", "c.d", "a")
	for _, c := range []struct {
		patterns []string
		after    int64
		limit    int
		want     []string
	}{
		{[]string{"a"}, 0, 10, []string{"s1", "s3", "s5"}},
		{[]string{"a"}, 1, 10, []string{"s3", "s5"}},
		{[]string{"c.d", "a", "a"}, 0, 10, []string{"s1", "s3", "s4", "s5"}},
		{[]string{"a", "b"}, 0, 2, []string{"s1", "s2"}},
		{[]string{"*"}, 0, 10, []string{"s1", "s2", "s3", "s5"}},
		{[]string{"*"}, 2, 10, []string{"s3", "s5"}},
		{[]string{"**"}, 0, 4, []string{"s1", "s2", "s3", "s4"}},
		{[]string{"x"}, 0, 4, nil},
	} {
		got, err := f.s.PendingSignals(f.ctx, id, c.patterns, c.after, c.limit)
		f.must(err)
		f.equal("pending", ids(got), c.want)
	}
	f.change(id, func(s *store.State) *store.Changes {
		s.Execution.CheckpointSeq = 4
		return &store.Changes{Execution: s.Execution, Take: []string{"s3", "s1"}}
	})
	f.change(id, func(*store.State) *store.Changes { return &store.Changes{Take: []string{"s2", "s1"}} })
	got, err := f.s.TakenSignals(f.ctx, id)
	f.must(err)
	f.equal("taken", ids(got), []string{"s3", "s1", "s2"})
	f.equal("the first one taken", got[0], perdure.Signal{
		ID: "s3", Name: "a", Value: json.RawMessage(`1`), State: perdure.SignalTaken, CreatedAt: got[0].CreatedAt, Order: 3, TakenAt: 4,
	})
	f.equal("taken, decided on", ids(f.look(id, store.Needs{Taken: true}).Taken), []string{"s3", "s1", "s2"})

	// A commit with ConsumeTaken also consumes the signals that the same commit takes.
	f.change(id, func(*store.State) *store.Changes { return &store.Changes{Take: []string{"s4"}, ConsumeTaken: true} })
	got, err = f.s.TakenSignals(f.ctx, id)
	f.must(err)
	f.equal("taken after the consuming", ids(got), nil)
	f.equal("a consumed signal", f.look(id, store.Needs{SignalIDs: []string{"s1"}}).Signals["s1"].State, perdure.SignalConsumed)
	got, err = f.s.PendingSignals(f.ctx, id, nil, 0, 10)
	f.must(err)
	f.equal("pending after the consuming", ids(got), []string{"s5"})
}

func signalsErased(f *fixture) {
	id := f.start(func(x *perdure.Execution) { x.PersistenceMode = perdure.Local })
	f.signals(id, "a")
	f.change(id, func(*store.State) *store.Changes { return &store.Changes{Take: []string{"s1"}} })
	taken, err := f.s.TakenSignals(f.ctx, id)
	f.must(err)
	f.equal("the value before the consuming", string(taken[0].Value), `1`)
	f.change(id, func(*store.State) *store.Changes { return &store.Changes{ConsumeTaken: true} })
	f.equal("the signal after the consuming", f.look(id, store.Needs{SignalIDs: []string{"s1"}}).Signals["s1"].State, perdure.SignalConsumed)
}

func signalsListed(f *fixture) {
	id := f.start()
	f.signals(id, "a", "b", "a", "c.d", "a")
	f.signals(f.start(), "x")
	f.change(id, func(*store.State) *store.Changes { return &store.Changes{Take: []string{"s3"}, ConsumeTaken: true} })
	f.change(id, func(*store.State) *store.Changes { return &store.Changes{Take: []string{"s1"}} })
	large := jsonText(perdure.InlineLimit + 1)
	f.change(id, func(s *store.State) *store.Changes {
		s.Execution.NextSignal++
		return &store.Changes{Execution: s.Execution, Signals: []perdure.Signal{{
			ID: "0", Name: "large", Value: large, State: perdure.SignalPending, CreatedAt: s.Now, Order: s.Execution.NextSignal,
		}}}
	})
	for _, size := range []int{1, 2, 6, 100} {
		got := pages(f, size, func(cursor string, limit int) (store.Page[*perdure.Signal], error) {
			return f.s.ListSignals(f.ctx, id, cursor, limit)
		})
		var all []string
		for _, s := range got {
			all = append(all, s.ID+" "+s.Name+" "+string(s.State))
		}
		f.equal("the signals", all, []string{"s1 a taken", "s2 b pending", "s3 a consumed", "s4 c.d pending", "s5 a pending", "0 large pending"})
		f.equal("a value", string(got[2].Value), `1`)
		f.equal("a large value", string(got[5].Value), string(large))
	}
	lazy, err := f.s.Lazy().ListSignals(f.ctx, id, "", 100)
	f.must(err)
	if last := lazy.Items[5]; last.Value != nil || last.Blob == nil || last.Blob.Length != int64(len(large)) {
		f.Errorf("a lazy reader returns %d bytes and the reference %v", len(last.Value), last.Blob)
	}
}
