package storetest

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var conversationTests = map[string]func(*fixture){
	"every field of a conversation comes back":              conversationFields,
	"pending items of a conversation are kept and taken":    conversationItems,
	"a conversation is found in its own org only":           conversationOrg,
	"a conversation outlives its executions":                conversationPruned,
	"responses of an execution are listed from either side": responsesListed,
	"pending items count for the key of the conversation":   conversationUse,
	"a command writes conversations of its own org only":    conversationOfAnother,
}

func (f *fixture) conversation(id string, change ...func(*store.ConversationChange)) *store.Conversation {
	f.Helper()
	ch := &store.ConversationChange{Row: store.Conversation{
		ID: id, Org: org, Response: "resp_of_" + id, Metadata: json.RawMessage(`{}`), CreatedAt: milestone(1),
	}}
	for _, c := range change {
		c(ch)
	}
	f.must(f.outside(org, store.Changes{Conversation: ch}))
	return &ch.Row
}

func conversationFields(f *fixture) {
	want := f.conversation("conv_a", func(ch *store.ConversationChange) {
		ch.Row.KeyID, ch.Row.Bytes, ch.Row.Metadata = ptr(uuid.New()), 7, json.RawMessage(`{"k":"v"}`)
		ch.Row.Mark = "m"
	})
	f.conversation("conv_b")
	check := func() {
		f.Helper()
		got, err := f.s.Conversation(f.ctx, org, "conv_a")
		f.must(err)
		f.equal("the conversation", got, want)
		got, err = f.s.ConversationByResponse(f.ctx, org, want.Response)
		f.must(err)
		f.equal("the conversation by its next response", got, want)
		f.equal("the one decided on", f.look(uuid.New(), store.Needs{Conversation: "conv_a"}).Conversation, want)
	}
	check()
	want.Response, want.Metadata = "resp_next", json.RawMessage(`{"k": "w"}`)
	f.must(f.outside(org, store.Changes{Conversation: &store.ConversationChange{Row: *want}}))
	check()
	_, err := f.s.ConversationByResponse(f.ctx, org, "resp_of_conv_a")
	f.wantCode(err, perdure.NotFound)
}

// pending reads at most `limit` pending items of a conversation, beginning with the index `from`.
// Pending items are input for the conversation's next response.
func (f *fixture) pending(id string, from, limit int) (all []string) {
	f.Helper()
	items, err := f.s.ConversationItems(f.ctx, id, from, limit)
	f.must(err)
	for _, i := range items {
		all = append(all, string(i))
	}
	return all
}

func conversationItems(f *fixture) {
	items := func(texts ...string) (all []json.RawMessage) {
		for _, text := range texts {
			all = append(all, json.RawMessage(text))
		}
		return all
	}
	row := f.conversation("conv_a", func(ch *store.ConversationChange) { ch.Add, ch.Row.Items = items(`"a"`, `"b"`), 2 })
	f.conversation("conv_b", func(ch *store.ConversationChange) { ch.Add, ch.Row.Items = items(`"x"`), 1 })
	row.Items = 3
	f.must(f.outside(org, store.Changes{Conversation: &store.ConversationChange{Row: *row, Add: items(`"c"`)}}))
	f.equal("the pending items", f.pending("conv_a", 0, 10), []string{`"a"`, `"b"`, `"c"`})
	f.equal("a page of them", f.pending("conv_a", 1, 1), []string{`"b"`})
	row.Items = 1
	f.must(f.outside(org, store.Changes{Conversation: &store.ConversationChange{Row: *row, Take: true, Add: items(`"d"`)}}))
	f.equal("what was added when they were taken", f.pending("conv_a", 0, 10), []string{`"d"`})
	f.must(f.outside(org, store.Changes{Conversation: &store.ConversationChange{Row: *row, Delete: true}}))
	f.equal("the items of a deleted conversation", f.pending("conv_a", 0, 10), nil)
	f.equal("those of another", f.pending("conv_b", 0, 10), []string{`"x"`})
	_, err := f.s.Conversation(f.ctx, org, "conv_a")
	f.wantCode(err, perdure.NotFound)
}

func conversationOrg(f *fixture) {
	c := f.conversation("conv_a")
	for _, at := range []struct{ org, id, response string }{{"other", c.ID, c.Response}, {org, "conv_x", "resp_x"}} {
		_, err := f.s.Conversation(f.ctx, at.org, at.id)
		f.wantCode(err, perdure.NotFound)
		_, err = f.s.ConversationByResponse(f.ctx, at.org, at.response)
		f.wantCode(err, perdure.NotFound)
	}
	var seen *store.Conversation
	f.do(store.Command{
		Lane: store.LaneCommits, Org: "other", Needs: func(*perdure.Execution) store.Needs { return store.Needs{Conversation: c.ID} },
		Decide: func(s *store.State) (*store.Changes, error) { seen = s.Conversation; return nil, nil },
	})
	f.equal("the conversation in another org", seen, nil)
}

func conversationOfAnother(f *fixture) {
	c := f.conversation("conv_a")
	if err := f.outside("other", store.Changes{Conversation: &store.ConversationChange{Row: *c, Delete: true}}); err == nil {
		f.Error("another org deleted the conversation")
	}
	_, err := f.s.Conversation(f.ctx, org, c.ID)
	f.must(err)
}

func conversationPruned(f *fixture) {
	row := f.conversation("conv_a")
	var all []uuid.UUID
	for range 3 {
		id := f.start()
		row.Executions++
		f.change(id, func(*store.State) *store.Changes {
			return &store.Changes{Conversation: &store.ConversationChange{Row: *row, Execution: &id}}
		})
		all = append(all, id)
	}
	check := func(want ...uuid.UUID) {
		f.Helper()
		got, err := f.s.ConversationExecutions(f.ctx, "conv_a")
		f.must(err)
		f.equal("the executions", got, want)
	}
	check(all...)
	f.endExecution(all[1], f.s.Now())
	f.prune(all[1], store.Prune{Execution: true})
	check(all[0], all[2])
	f.drop(100)
	check(all[0], all[2])
	got, err := f.s.Conversation(f.ctx, org, "conv_a")
	f.must(err)
	f.equal("the conversation", got, row)
	f.must(f.outside(org, store.Changes{Conversation: &store.ConversationChange{Row: *row, Delete: true}}))
	check()
	f.execution(all[0])
}

func responsesListed(f *fixture) {
	id := f.start()
	var all []store.Response
	for i, name := range []string{"resp_c", "resp_a", "resp_d", "resp_b"} {
		all = append(all, store.Response{ID: name, Execution: id, FirstPos: int64(10 * (i + 1)), CreatedAt: milestone(1), Hidden: i == 1})
	}
	joined := store.Response{ID: "resp_j", Execution: id, FirstPos: 15, Joined: "resp_c", CreatedAt: milestone(1)}
	f.change(id, func(*store.State) *store.Changes {
		return &store.Changes{Responses: append([]store.Response{joined}, all...)}
	})
	other := f.start()
	f.change(other, func(s *store.State) *store.Changes {
		return &store.Changes{Responses: []store.Response{{ID: "resp_o", FirstPos: 20, CreatedAt: s.Now}}}
	})
	for _, c := range []struct {
		q    store.ResponseQuery
		want []store.Response
	}{
		{store.ResponseQuery{Limit: 10}, all},
		{store.ResponseQuery{Limit: 2}, all[:2]},
		{store.ResponseQuery{After: 10, Limit: 2}, all[1:3]},
		{store.ResponseQuery{Newest: true, Limit: 2}, []store.Response{all[3], all[2]}},
		{store.ResponseQuery{After: 30, Newest: true, Limit: 10}, []store.Response{all[1], all[0]}},
		{store.ResponseQuery{After: 40, Limit: 10}, nil},
	} {
		got, err := f.s.ResponsesOf(f.ctx, id, c.q)
		f.must(err)
		f.equal("the responses", got, c.want)
	}
}

func conversationUse(f *fixture) {
	k := &perdure.APIKey{ID: uuid.New(), Org: org, Name: "k", Role: perdure.KeyClient, Hash: hashOf("k"), CreatedAt: milestone(0), Limits: perdure.KeyLimits{MaxStored: 1000}}
	f.must(f.outside(org, store.Changes{Key: k}))
	for _, id := range []string{"conv_a", "conv_b"} {
		f.conversation(id, func(ch *store.ConversationChange) { ch.Row.KeyID, ch.Row.Bytes = &k.ID, 100 })
	}
	f.equal("what the key stores", f.look(uuid.New(), store.Needs{UseOf: &k.ID}).Limited.Use.Stored, int64(200))
}
