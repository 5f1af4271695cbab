package response

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/perdure/perdure"
)

// Merge assembles one response from its updates, in order of arrival. It is pure, and does not
// change the updates. docs/responses.md describes the rules.
func Merge(of Identity, updates []Update) Response {
	m := NewMerger(of)
	for _, u := range updates {
		m.Add(u)
	}
	return m.Response()
}

// Merger implements Merge for updates that arrive one by one.
type Merger struct {
	a *assembler
	r Response
}

// NewMerger creates a Merger for a new response.
func NewMerger(of Identity) *Merger {
	return &Merger{a: newAssembler(of, true), r: Response{ID: of.Response}}
}

// Add adds the next update.
func (g *Merger) Add(u Update) {
	g.learn(u)
	t := g.a.talkOf(talkKey{response: u.ResponseID, invocation: invocationOf(u)})
	var about *message
	for _, c := range u.Contents {
		if c.Usage != nil {
			g.r.Usage = sum(g.r.Usage, c.Usage)
			c.Usage = nil
		}
		if c.Part.Type == "" && c.Failure == nil {
			continue
		}
		m := g.a.put(t, u, c)
		if about == nil {
			about = m
		}
	}
	if u.MessageID == "" {
		g.r.Properties = joined(g.r.Properties, u.Properties)
		return
	}
	if about == nil {
		about = g.a.about(t, u)
	}
	about.Properties = joined(about.Properties, u.Properties)
}

// learn copies properties of the response from an update. It also adds the ids in the update's
// ResponseID and ProviderResponseID to the ProviderResponseIDs of the response.
func (g *Merger) learn(u Update) {
	r := &g.r
	for _, id := range []string{Real(u.ResponseID), Real(u.ProviderResponseID)} {
		if id != "" && id != r.ID && !slices.Contains(r.ProviderResponseIDs, id) {
			r.ProviderResponseIDs = append(r.ProviderResponseIDs, id)
		}
	}
	r.AgentID = first(r.AgentID, u.AgentID)
	if !valid(r.CreatedAt) && valid(u.CreatedAt) {
		r.CreatedAt = u.CreatedAt
	}
	if u.FinishReason != "" {
		r.FinishReason = u.FinishReason
	}
	r.Usage = sum(r.Usage, u.Usage)
}

// Response returns the response that results from the updates added until now.
func (g *Merger) Response() Response {
	r := g.r
	r.Properties, r.Usage = joined(nil, r.Properties), sum(nil, r.Usage)
	r.ProviderResponseIDs = slices.Clone(r.ProviderResponseIDs)
	for _, m := range g.a.ordered() {
		if m.isBlank() {
			continue
		}
		r.Messages = append(r.Messages, m.finished())
	}
	return r
}

// finished returns the message in its current state. The copy shares no data with the message.
func (m *message) finished() Message {
	out := m.Message
	for _, p := range m.pieces {
		out.Contents = append(out.Contents, p.finished())
	}
	out.Contents = once(out.Contents)
	out.Properties = joined(nil, m.Properties)
	if out.Role == "" {
		out.Role = perdure.RoleAssistant
	}
	return out
}

// ordered returns the messages in the order of the merged response: by response id, then by
// invocation, and in an invocation messages with an id before those without. Messages without a
// response id come last. But a tool result follows its call.
func (a *assembler) ordered() []*message {
	after := a.results()
	var out []*message
	emit := func(m *message) {
		out = append(out, m)
		out = append(out, after[m]...)
	}
	place := a.places(after)
	all := slices.Clone(a.messages)
	all = slices.DeleteFunc(all, func(m *message) bool { return place[m] == nil })
	slices.SortStableFunc(all, func(x, y *message) int { return slices.Compare(place[x], place[y]) })
	for _, m := range all {
		emit(m)
	}
	return out
}

// results returns for each message the results of its tool calls, in order of arrival.
func (a *assembler) results() map[*message][]*message {
	after := map[*message][]*message{}
	answered := map[*call]bool{}
	for _, m := range a.messages {
		if m.call != nil {
			answered[m.call] = true
		}
	}
	for _, m := range a.messages {
		if !m.result {
			continue
		}
		if k := a.callOf(m, answered); k != nil {
			answered[k] = true
			after[k.message] = append(after[k.message], m)
		}
	}
	return after
}

// callOf returns the call of a tool result. The call may have arrived after the result. Of several
// matching calls, callOf prefers those without a result, among these the calls of the same
// response, and among these the calls of the same talk.
func (a *assembler) callOf(m *message, answered map[*call]bool) *call {
	if m.call != nil {
		return m.call
	}
	all := a.calls[m.answers]
	if len(all) == 0 {
		return nil
	}
	return slices.MinFunc(all, func(x, y *call) int {
		return cmp.Compare(distance(x, m, answered), distance(y, m, answered))
	})
}

func distance(k *call, m *message, answered map[*call]bool) int {
	d := 0
	if k.talk != m.talk {
		d++
	}
	if k.talk.response != m.talk.response {
		d++
	}
	if answered[k] {
		d += 3
	}
	return d
}

// places returns the sort key of each message that is not the result of a call. The key consists of
// the position of its response, the position of its invocation, and 0 or 1, where 1 means that the
// message has no id.
func (a *assembler) places(after map[*message][]*message) map[*message][]int {
	moved := map[*message]bool{}
	for _, results := range after {
		for _, m := range results {
			moved[m] = true
		}
	}
	responses, talks := map[string]int{"": len(a.order)}, map[*talk]int{}
	for i, t := range a.order {
		if _, seen := responses[t.response]; !seen {
			responses[t.response] = i
		}
		talks[t] = i
	}
	place := map[*message][]int{}
	for _, m := range a.messages {
		switch {
		case moved[m]:
		case m.talk.response == "":
			place[m] = []int{responses[""]}
		case m.raw == "":
			place[m] = []int{responses[m.talk.response], talks[m.talk], 1}
		default:
			place[m] = []int{responses[m.talk.response], talks[m.talk], 0}
		}
	}
	return place
}

// sum returns the sum of two usages. A nil usage is unknown and adds nothing.
func sum(a, b *perdure.Usage) *perdure.Usage {
	switch {
	case a == nil && b == nil:
		return nil
	case a == nil:
		a = &perdure.Usage{}
	case b == nil:
		b = &perdure.Usage{}
	}
	total := a.Add(*b)
	return &total
}

// joined returns a new map with the properties of two maps. If both have a property, the value in
// `more` applies.
func joined(have, more map[string]json.RawMessage) map[string]json.RawMessage {
	if len(have)+len(more) == 0 {
		return nil
	}
	all := maps.Clone(have)
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	maps.Copy(all, more)
	return all
}
