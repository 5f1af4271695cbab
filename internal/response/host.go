package response

import "github.com/perdure/perdure"

// Host sets the ids of one response on all its updates. The code that runs a response passes each
// update of its providers and inner agents to a Host, before updates are merged, stored or shown.
type Host struct {
	a      *assembler
	rounds map[string]*round // by invocation
}

// round is the output of an agent invocation while the provider's response id stays the same.
// Usually it is the output of one model call.
type round struct {
	number   int
	response string
}

// NewHost creates a Host for a new response.
func NewHost(of Identity) *Host {
	return &Host{a: newAssembler(of, false), rounds: map[string]*round{}}
}

// Stamp returns the update with the response id of the Host, and with a message id that only one
// message has. An update with contents of several messages becomes several updates.
// ProviderResponseID is set to the provider's response id, unless that is a placeholder. If the
// provider's response id changes during an invocation, another model call has begun, whose updates
// never continue an earlier message.
func (h *Host) Stamp(u Update) []Update {
	own := Real(u.ResponseID)
	if own == h.a.of.Response {
		own = ""
	}
	own = first(own, Real(u.ProviderResponseID))
	t := h.a.talkOf(h.key(invocationOf(u), own))
	u.ResponseID, u.ProviderResponseID = h.a.of.Response, own
	var out []Update
	for _, c := range u.Contents {
		id := ""
		if c.Part.Type != "" || c.Failure != nil {
			id = h.a.put(t, u, c).ID
		}
		if n := len(out); n > 0 && (id == "" || id == out[n-1].MessageID) {
			out[n-1].Contents = append(out[n-1].Contents, c)
			continue
		}
		out = append(out, piecesOf(u, id, c))
	}
	if len(out) == 0 {
		if u.MessageID != "" {
			u.MessageID = h.a.about(t, u).ID
		}
		return []Update{u}
	}
	last := &out[len(out)-1]
	last.FinishReason, last.Usage = u.FinishReason, u.Usage
	out[0].Properties = u.Properties
	return out
}

// piecesOf returns a copy of the update with only one content, which belongs to the message with
// the id.
func piecesOf(u Update, id string, c Content) Update {
	u.MessageID, u.Contents = id, []Content{c}
	u.FinishReason, u.Usage, u.Properties = "", nil, nil
	if c.Part.Type == perdure.PartToolResult && u.Role == "" {
		u.Role = perdure.RoleToolResult
	}
	return u
}

func (h *Host) key(invocation, response string) talkKey {
	r := h.rounds[invocation]
	if r == nil {
		r = &round{}
		h.rounds[invocation] = r
	}
	if differs(r.response, response) {
		r.number++
	}
	r.response = first(response, r.response)
	return talkKey{response: h.a.of.Response, invocation: invocation, round: r.number}
}
