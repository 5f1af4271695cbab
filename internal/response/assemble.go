package response

import "github.com/perdure/perdure"

// assembler assembles the messages of a response from its updates. It adds each content of an
// update to the message to which the content belongs.
type assembler struct {
	of       Identity
	made     int             // the ordinal of the newest message
	used     map[string]bool // ids of messages
	talks    map[talkKey]*talk
	order    []*talk // talks in order of their first update
	calls    map[string][]*call
	messages []*message // messages in the order in which they began
	keep     bool       // also keep the contents of messages
}

func newAssembler(of Identity, keep bool) *assembler {
	return &assembler{of: of, used: map[string]bool{}, talks: map[talkKey]*talk{}, calls: map[string][]*call{}, keep: keep}
}

// talkKey identifies the output of one agent invocation in one response.
type talkKey struct {
	response, invocation string
	round                int // the model call; only in a Host
}

// talk is the output of one agent invocation in one response.
type talk struct {
	talkKey
	open  map[string]*message // open messages by the id of their updates
	last  map[string]*message // newest messages by the id of their updates, open or closed
	run   *message            // the message of consecutive updates without an id
	fake  *message            // the message of consecutive updates with a placeholder
	calls []*call
}

// message is a message that is being assembled.
type message struct {
	Message
	talk    *talk
	raw     string // the message id in the updates
	pieces  []*piece
	result  bool
	answers string // the call id, if the message is a tool result
	call    *call  // the call of the result, if it came before the result
}

func invocationOf(u Update) string {
	if u.InvocationID != "" {
		return "run " + u.InvocationID
	}
	return "agent " + u.AgentID
}

// talkOf returns the talk for a key. It creates the talk if there is none.
func (a *assembler) talkOf(key talkKey) *talk {
	t := a.talks[key]
	if t == nil {
		t = &talk{talkKey: key, open: map[string]*message{}, last: map[string]*message{}}
		a.talks[key] = t
		a.order = append(a.order, t)
	}
	return t
}

// put adds a content of an update to a message, and returns the message. The message may be a new
// one.
func (a *assembler) put(t *talk, u Update, c Content) *message {
	if t.fake != nil && t.fake.raw != u.MessageID {
		t.fake = nil
	}
	switch c.Part.Type {
	case perdure.PartToolResult:
		return a.putResult(t, u, c)
	case perdure.PartToolCall:
		return a.putCall(t, u, c)
	}
	m := a.find(t, u)
	if a.keep {
		m.add(c)
	}
	return m
}

// putResult creates a new message for the result of a tool call. It closes all open messages of the
// agent invocation that sent the result, and of the one that made the call.
func (a *assembler) putResult(t *talk, u Update, c Content) *message {
	m := a.begin(t, u)
	m.result, m.answers = true, c.Part.ToolCallID
	if a.keep {
		m.pieces = []*piece{newPiece(c)}
	}
	m.Role = perdure.RoleToolResult
	if u.Role != "" {
		m.Role = u.Role
	}
	a.answer(m)
	t.close()
	if m.call != nil {
		m.call.talk.close()
	}
	return m
}

// answer finds the call of a tool result among the calls that have arrived. It prefers calls
// without a result, then calls of the same talk, then calls of the same response. If several calls
// are equally good, it takes the oldest.
func (a *assembler) answer(m *message) {
	var best *call
	nearest := 0
	for _, k := range a.calls[m.answers] {
		near := 1
		if k.talk.response == m.talk.response {
			near = 2
		}
		if k.talk == m.talk {
			near = 3
		}
		if !k.answered {
			near += 3
		}
		if near > nearest {
			best, nearest = k, near
		}
	}
	if nearest > 3 {
		best.answered = true
		m.call = best
	}
}

func (a *assembler) putCall(t *talk, u Update, c Content) *message {
	if k := t.continues(u, c); k != nil {
		k.grow(c.Part)
		a.identify(k, c.Part.ID)
		return k.message
	}
	m := a.find(t, u)
	k := &call{talk: t, message: m, raw: u.MessageID, name: c.Part.Name, index: c.Index}
	k.nesting.feed(c.Part.RawArguments)
	a.identify(k, c.Part.ID)
	t.calls = append(t.calls, k)
	if a.keep {
		k.piece = newPiece(c)
		m.pieces = append(m.pieces, k.piece)
	}
	return m
}

// identify records the id of a tool call once it is known.
func (a *assembler) identify(k *call, id string) {
	if k.id == "" && id != "" {
		k.id = id
		a.calls[id] = append(a.calls[id], k)
	}
}

// find returns the message that an update continues. If there is none, it begins a new message.
func (a *assembler) find(t *talk, u Update) *message {
	m := t.current(u.MessageID)
	if m == nil || m.differs(u) || t.response == "" && a.isOld(m, u) {
		m = a.begin(t, u)
	}
	m.learn(u)
	return m
}

// isOld reports whether m is not the newest message, so that an update without a message id does
// not continue it. This is used only for messages without a response id, of which only the order of
// arrival is known.
func (a *assembler) isOld(m *message, u Update) bool {
	return u.MessageID == "" && a.messages[len(a.messages)-1] != m
}

func (t *talk) current(raw string) *message {
	switch {
	case raw == "":
		return t.run
	case !IsPlaceholder(raw):
		return t.open[raw]
	case t.fake != nil && t.fake.raw == raw:
		return t.fake
	}
	return nil
}

func (t *talk) close() {
	clear(t.open)
	t.run, t.fake = nil, nil
}

func (t *talk) isOpen(m *message) bool { return t.current(m.raw) == m }

// differs reports whether an update belongs to another message than m: the role or the author in
// the update is not that of m. An update without an id also belongs to another message if it has a
// role or an author and m has none.
func (m *message) differs(u Update) bool {
	if u.MessageID == "" && (m.Role == "" && u.Role != "" || m.Author == "" && u.Author != "") {
		return true
	}
	return differs(m.Role, u.Role) || differs(m.Author, u.Author)
}

func differs[T ~string](have, got T) bool { return have != "" && got != "" && have != got }

// begin starts a message. The message gets the id of the update. If that id is a placeholder or
// already in use, it gets a new id.
func (a *assembler) begin(t *talk, u Update) *message {
	a.made++
	m := &message{talk: t, raw: u.MessageID}
	m.ID = Real(u.MessageID)
	for try := 0; m.ID == "" || a.used[m.ID]; try++ {
		m.ID = a.of.again(PrefixMessage, a.made, try)
	}
	a.used[m.ID] = true
	a.messages = append(a.messages, m)
	switch {
	case u.MessageID == "":
		t.run = m
	case IsPlaceholder(u.MessageID):
		t.fake = m
	default:
		t.open[u.MessageID] = m
	}
	t.last[u.MessageID] = m
	m.learn(u)
	return m
}

// learn copies properties from an update to the message, if the message does not have them yet.
func (m *message) learn(u Update) {
	if m.Role == "" {
		m.Role = u.Role
	}
	m.Author = first(m.Author, u.Author)
	m.AgentID, m.InvocationID = first(m.AgentID, u.AgentID), first(m.InvocationID, u.InvocationID)
	m.ProviderResponseID = first(m.ProviderResponseID, Real(u.ProviderResponseID))
	if !valid(m.CreatedAt) && valid(u.CreatedAt) {
		m.CreatedAt = u.CreatedAt
	}
}

// about returns the message to which an update without contents refers: the newest one with the
// update's id, open or closed.
func (a *assembler) about(t *talk, u Update) *message {
	m := t.last[u.MessageID]
	if m == nil {
		return a.find(t, u)
	}
	m.learn(u)
	return m
}
