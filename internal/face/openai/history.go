package openai

import (
	"crypto/sha256"
	"encoding/json"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// history is a hash of a conversation in the form in which its client sends it, computed turn by
// turn. With it, the server finds the execution of a client that sends its whole conversation. The
// hash leaves out what some clients do not store: reasoning, item ids, and the division of text
// into items. There are two hashes, with and without the calls of tools that workers have run,
// because some clients drop these calls.
type history struct {
	store.History
	turn turn
}

// turn is the output of the agent between two inputs of the client.
type turn struct {
	Text  []byte
	Calls []knownCall
	ran   []knownCall
}

// knownCall is a tool call as a client sends it back. The field ID is set if the client runs the
// tool, and Outcome if a worker runs the tool.
type knownCall struct {
	ID, Name, Arguments, Outcome string
	Failed                       bool
}

// newHistory returns the history at the start of a conversation. Conversations of different orgs,
// agents or end users start with different hashes.
func newHistory(org string, r *request) history {
	seed := perdure.Hash(sha256.Sum256(encoded("history", org, r.Model, r.User, r.SafetyIdentifier)))
	return history{History: store.History{Said: seed, SaidAndRun: seed}}
}

// historyAfter returns the history at the end of a response, to which more items can be added.
func historyAfter(end store.History) history { return history{History: end} }

// add adds an item of the input. The caller must call endTurn before it adds an item of the client.
func (h *history) add(i resolvedItem) {
	if i.messages == nil || i.lost {
		return // the item was withdrawn, or its content is unknown
	}
	m := i.messages[0]
	if i.clients() {
		h.client(m)
		return
	}
	for _, p := range m.Parts {
		switch {
		case p.Type == perdure.PartText:
			h.turn.Text = append(h.turn.Text, p.Text...)
		case p.Type == perdure.PartToolCall && i.here:
			result := i.messages[1].Parts[0]
			h.turn.ranHere(p, result)
		case p.Type == perdure.PartToolCall:
			h.turn.call(p)
		}
	}
}

// clients reports whether the item was written by the client and not by the agent.
func (i resolvedItem) clients() bool {
	return len(i.messages) > 0 && i.messages[0].Role != perdure.RoleAssistant
}

func (t *turn) call(p perdure.Part) {
	t.Calls = append(t.Calls, knownCall{ID: p.ID, Name: p.Name, Arguments: sameArguments(p.RawArguments)})
}

func (t *turn) ranHere(call, result perdure.Part) {
	t.ran = append(t.ran, knownCall{Name: call.Name, Arguments: sameArguments(call.RawArguments), Outcome: resultText(result.Parts), Failed: result.IsError})
}

// sameArguments returns the arguments of a call in a canonical form, because a client may send them
// back with another formatting of the JSON.
func sameArguments(raw string) string {
	var v any
	if strings.TrimSpace(raw) == "" {
		return "{}"
	}
	if json.Unmarshal([]byte(raw), &v) != nil {
		return raw
	}
	return string(encoded(v))
}

// client adds a message of the client, or the result of a call that the client has run.
func (h *history) client(m perdure.InputMessage) { h.step(asSaid(m), nil) }

// asSaid encodes a message for comparisons, without the ids and names that only the client or only
// the server knows.
func asSaid(m perdure.InputMessage) []byte {
	said := []any{string(m.Role)}
	for _, p := range m.Parts {
		p.ID, p.ProviderID, p.ToolName = "", "", ""
		said = append(said, p)
	}
	return encoded(said...)
}

// endTurn adds the agent's turn to the hash. An empty turn is skipped.
func (h *history) endTurn() {
	t := h.turn
	h.turn = turn{}
	if len(t.Text) == 0 && len(t.Calls) == 0 && len(t.ran) == 0 {
		return
	}
	h.step(encoded("turn", t), encoded(t.ran))
}

func (h *history) step(said, ran []byte) {
	h.Said = after(h.Said, said)
	h.SaidAndRun = after(h.SaidAndRun, append(said, ran...))
}

func after(h perdure.Hash, said []byte) perdure.Hash {
	return sha256.Sum256(append(h[:], said...))
}

func encoded(v ...any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // cannot fail: all values were decoded from JSON
	}
	return raw
}

// end returns the history at the end of a response. It is zero if the response can be continued
// only by its id: if it failed or was cancelled, or if the history of its input is not known.
func (f *fold) end() store.History {
	known := f.request.History
	if known == nil || f.status != statusCompleted && f.status != statusIncomplete {
		return store.History{}
	}
	h := historyAfter(known.history())
	for _, g := range f.items {
		switch {
		case g.Type == itemMessage:
			for _, c := range g.Content {
				h.turn.Text = append(h.turn.Text, c.Text...)
			}
		case g.Type == itemToolCall:
			h.turn.ranHere(g.part, g.answer())
		case g.Type == itemCall:
			h.turn.call(g.part)
		case g.Type == itemCompaction:
			h.endTurn()
			h.client(g.summary.message())
		}
	}
	h.endTurn()
	return h.History
}

// historyOfResponse is the history at the end of a response's input. It is stored with the create
// request.
type historyOfResponse struct {
	Said       perdure.Hash `json:"said"`
	SaidAndRun perdure.Hash `json:"saidAndRun"`
}

func (k *historyOfResponse) history() store.History {
	return store.History{Said: k.Said, SaidAndRun: k.SaidAndRun}
}
