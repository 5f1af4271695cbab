package storetest

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var responseTests = map[string]func(*fixture){
	"every field of a response comes back":        responseFields,
	"a response is joined and hidden":             responseChanges,
	"a response is found in its own org only":     responseOrg,
	"responses are found by what was said":        responsesBySaid,
	"a response goes with its execution":          responsePruned,
	"a signal is found by its id, in every state": signalByID,
	"a definition is found by its slug":           definitionSlug,
}

func responseFields(f *fixture) {
	id := f.start()
	want := []store.Response{
		{ID: "resp_a", Execution: id, FirstPos: 1, CreatedAt: milestone(1)},
		{
			ID: "resp_b", Execution: id, SignalID: "s", FirstPos: 7, Joined: "resp_a", Hidden: true, CreatedAt: milestone(2),
			Request: json.RawMessage(`{"k": 1}`), History: store.History{Said: perdure.Hash{1}, SaidAndRun: perdure.Hash{2}},
		},
	}
	f.change(id, func(*store.State) *store.Changes { return &store.Changes{Responses: want} })
	for _, r := range want {
		got, err := f.s.Response(f.ctx, org, r.ID)
		f.must(err)
		f.equal("the response", *got, r)
	}
}

func responseChanges(f *fixture) {
	id := f.start()
	f.change(id, func(s *store.State) *store.Changes {
		return &store.Changes{Responses: []store.Response{{ID: "resp_a", FirstPos: 1, CreatedAt: s.Now}, {ID: "resp_b", FirstPos: 2, CreatedAt: s.Now}}}
	})
	f.change(id, func(*store.State) *store.Changes {
		return &store.Changes{Join: []store.Join{{ID: "resp_b", Into: "resp_a"}}, HideResponse: "resp_a"}
	})
	a, err := f.s.Response(f.ctx, org, "resp_a")
	f.must(err)
	b, err := f.s.Response(f.ctx, org, "resp_b")
	f.must(err)
	if !a.Hidden || a.Joined != "" || b.Hidden || b.Joined != "resp_a" {
		f.Errorf("got %+v and %+v", a, b)
	}
}

func responseOrg(f *fixture) {
	id := f.start()
	f.change(id, func(s *store.State) *store.Changes {
		return &store.Changes{Responses: []store.Response{{ID: "resp_a", FirstPos: 1, CreatedAt: s.Now}}}
	})
	for _, c := range []struct{ org, id string }{{"other", "resp_a"}, {org, "resp_x"}} {
		_, err := f.s.Response(f.ctx, c.org, c.id)
		f.wantCode(err, perdure.NotFound)
	}
}

func responsesBySaid(f *fixture) {
	said, other := perdure.Hash{1}, perdure.Hash{2}
	ids := map[string]uuid.UUID{"resp_a": f.start(), "resp_b": f.start(), "resp_c": f.start()}
	end := func(id string, h store.History) {
		f.change(ids[id], func(*store.State) *store.Changes {
			return &store.Changes{EndResponse: &store.ResponseEnd{ID: id, History: h}}
		})
	}
	for i, id := range []string{"resp_a", "resp_b", "resp_c"} {
		f.change(ids[id], func(*store.State) *store.Changes {
			return &store.Changes{Responses: []store.Response{{ID: id, FirstPos: 1, CreatedAt: milestone(int64(i))}}}
		})
	}
	found := func(in string, h perdure.Hash, limit int) (names []string) {
		rows, err := f.s.ResponsesBySaid(f.ctx, in, h, limit)
		f.must(err)
		for _, r := range rows {
			names = append(names, r.ID)
		}
		return names
	}
	f.equal("before the end", found(org, said, 9), []string(nil))
	end("resp_a", store.History{Said: said, SaidAndRun: other})
	end("resp_b", store.History{Said: said, SaidAndRun: said})
	end("resp_c", store.History{Said: other, SaidAndRun: said})
	end("resp_a", store.History{Said: other, SaidAndRun: other}) // the history is set already, so this has no effect
	f.equal("the newest first", found(org, said, 9), []string{"resp_b", "resp_a"})
	f.equal("at most one", found(org, said, 1), []string{"resp_b"})
	f.equal("of another org", found("other", said, 9), []string(nil))
	a, err := f.s.Response(f.ctx, org, "resp_a")
	f.must(err)
	f.equal("the history", a.History, store.History{Said: said, SaidAndRun: other})
}

func responsePruned(f *fixture) {
	id := f.start()
	f.change(id, func(s *store.State) *store.Changes {
		return &store.Changes{Responses: []store.Response{{ID: "resp_a", FirstPos: 1, CreatedAt: s.Now}}}
	})
	f.endExecution(id, f.s.Now())
	f.prune(id, store.Prune{Execution: true})
	_, err := f.s.Response(f.ctx, org, "resp_a")
	f.wantCode(err, perdure.NotFound)
	f.drop(100)
	other := f.start() // the id is free only after the row is deleted
	f.change(other, func(s *store.State) *store.Changes {
		return &store.Changes{Responses: []store.Response{{ID: "resp_a", FirstPos: 1, CreatedAt: s.Now}}}
	})
}

func signalByID(f *fixture) {
	id := f.start()
	f.signals(id, "a", "b")
	f.change(id, func(s *store.State) *store.Changes {
		return &store.Changes{Execution: s.Execution, Take: []string{"s1"}}
	})
	f.change(id, func(s *store.State) *store.Changes { return &store.Changes{Execution: s.Execution, ConsumeTaken: true} })
	for name, state := range map[string]perdure.SignalState{"s1": perdure.SignalConsumed, "s2": perdure.SignalPending} {
		got, err := f.s.Signal(f.ctx, id, name)
		f.must(err)
		if got.ID != name || got.State != state || string(got.Value) != "1" {
			f.Errorf("got %+v", got)
		}
	}
	_, err := f.s.Signal(f.ctx, id, "s3")
	f.wantCode(err, perdure.NotFound)
	_, err = f.s.Signal(f.ctx, uuid.New(), "s1")
	f.wantCode(err, perdure.NotFound)
}

func definitionSlug(f *fixture) {
	d := wholeDefinition(org, "s")
	f.must(f.outside(org, store.Changes{Definition: d}))
	got, err := f.s.DefinitionBySlug(f.ctx, org, "s")
	f.must(err)
	f.equal("the definition", got, d)
	for _, c := range []struct{ org, slug string }{{"other", "s"}, {org, "x"}} {
		_, err := f.s.DefinitionBySlug(f.ctx, c.org, c.slug)
		f.wantCode(err, perdure.NotFound)
	}
}
