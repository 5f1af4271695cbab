package react

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/tool"
)

// userMessageSignal is the content of a stored userMessage signal. It is either one user message,
// or messages and settings that the server has assembled.
type userMessageSignal struct {
	Text     string                 `json:"text"`
	Parts    []perdure.Part         `json:"parts"`
	Messages []perdure.InputMessage `json:"messages"`
	Settings *perdure.ReactInput    `json:"settings"`
}

// read decodes a userMessage signal. The parameter `open` contains the tool calls without a result.
// If the message cannot be used, read returns a text that tells the model so: an invalid message,
// which older servers did not refuse, must not end the run.
func read(s perdure.Signal, open []call) userMessageSignal {
	var v userMessageSignal
	if err := json.Unmarshal(s.Value, &v); err != nil {
		return unread("it is not {\"text\": ...} or {\"parts\": ...}")
	}
	v.Settings = usable(v.Settings)
	if len(v.Messages) == 0 && len(v.Parts) == 0 && v.Text == "" {
		return unread("it says nothing")
	}
	if len(v.Parts) == 0 {
		v.Parts = []perdure.Part{perdure.Text(v.Text)}
	}
	if len(v.Messages) == 0 {
		v.Messages = []perdure.InputMessage{{Role: perdure.RoleUser, Parts: v.Parts}}
	}
	if err := perdure.CheckMessages("messages", idsOf(open), v.Messages); err != nil {
		return unread(reason(err))
	}
	return v
}

// usable returns the settings if they name a model. Otherwise it returns nil, so that the settings
// in the execution's input apply.
func usable(settings *perdure.ReactInput) *perdure.ReactInput {
	if settings != nil && len(settings.Models) == 0 {
		return nil
	}
	return settings
}

// unread returns a user message which tells the model why the received message cannot be used.
func unread(why string) userMessageSignal {
	text := fmt.Sprintf("(a message came that cannot be read: %s)", why)
	return userMessageSignal{Messages: []perdure.InputMessage{{Role: perdure.RoleUser, Parts: []perdure.Part{perdure.Text(text)}}}}
}

// reason returns the text of an error in the form that the model reads, cut to about 500 bytes.
func reason(err error) string {
	text := err.Error()
	var coded *perdure.Error
	if errors.As(err, &coded) {
		text = coded.Message
	}
	const most = 500
	if len(text) > most {
		text = text[:most] + "..."
	}
	return perdure.ValidText(text)
}

func idsOf(calls []call) []string {
	var ids []string
	for _, c := range calls {
		ids = append(ids, c.ID)
	}
	return ids
}

// asked returns the settings of the current response.
func (l *loop) asked() perdure.ReactInput {
	if l.st.Settings != nil {
		return *l.st.Settings
	}
	return l.in
}

// isClients reports whether the tool with this name runs at the client, not on a worker.
func (l *loop) isClients(name string) bool {
	return slices.ContainsFunc(l.asked().ClientTools, func(t perdure.ClientTool) bool { return t.Name == name })
}

// appendInput appends messages to the conversation. The calls in `open` have no result yet. Calls
// that the messages do not answer get the result "skipped", before the first message that is not a
// tool result. The first message has the given key, and the others have keys derived from it, so
// that an input that is delivered again after a crash creates no second entry.
func (l *loop) appendInput(key string, open []call, messages []perdure.InputMessage) error {
	names := namesOf(open)
	summary, first := hasSummary(messages), true
	var before []inputEntry // the messages since the last summary
	for i, m := range messages {
		if m.Role != perdure.RoleToolResult {
			if err := l.skip(open); err != nil {
				return err
			}
			open = nil
		}
		open = slices.DeleteFunc(slices.Clone(open), func(c call) bool { return answers(m, c.ID) })
		if m.Compaction != nil {
			if err := l.appendSummaryOf(m, fmt.Sprintf("%s.%d.summary", key, i), before); err != nil {
				return err
			}
			before = nil
			continue
		}
		id := key
		if !first {
			id = fmt.Sprintf("%s.%d", key, i)
		}
		first = false
		appended, err := l.appendMessage(m, id, names, summary)
		if err != nil {
			return err
		}
		before = append(before, appended)
	}
	return l.skip(open)
}

// appendMessage appends one message of an input. If `derive` is true, the id of its entry is
// derived from the key. The names of the tools that the message calls are added to `names`, by call
// id.
func (l *loop) appendMessage(m perdure.InputMessage, key string, names map[string]string, derive bool) (inputEntry, error) {
	parts := namedResults(perdure.BoundedParts(m.Role, perdure.AcceptableParts(m.Role, m.Parts)), names)
	perdure.AddCallNames(names, parts)
	opts := []agent.AppendOption{agent.WithKey(key)}
	e := inputEntry{role: m.Role}
	if derive {
		e.id = l.inputID(key)
		opts = append(opts, agent.WithEntryID(e.id))
	}
	message := perdure.Message{Role: m.Role, Content: perdure.Content{Parts: parts, Provider: m.Provider, Model: m.Model}}
	e.tokens = llm.EstimateMessage(message, l.anyLimits())
	return e, l.append(message, opts...)
}

// namesOf returns the name of the called tool for each call id.
func namesOf(calls []call) map[string]string {
	names := map[string]string{}
	for _, c := range calls {
		names[c.ID] = c.Name
	}
	return names
}

// namedResults returns the parts with the name of the tool in each tool result. Clients send only
// the id of the call, so the name is looked up in `names`.
func namedResults(parts []perdure.Part, names map[string]string) []perdure.Part {
	parts = slices.Clone(parts)
	for i, p := range parts {
		if p.Type == perdure.PartToolResult && p.ToolName == "" {
			parts[i].ToolName = names[p.ToolCallID]
		}
	}
	return parts
}

func answers(m perdure.InputMessage, call string) bool {
	return slices.ContainsFunc(m.Parts, func(p perdure.Part) bool { return p.Type == perdure.PartToolResult && p.ToolCallID == call })
}

// skip stores the result "skipped" for each of the calls, because a user message arrived before
// they were run.
func (l *loop) skip(calls []call) error {
	for _, c := range calls {
		if err := l.storeResult(c, tool.Errorf("skipped: the user sent a message"), nil); err != nil {
			return err
		}
	}
	return nil
}

// copyBytes is the approximate number of bytes of entries in one commit of copyFrom.
const copyBytes = 1 << 20

// copyFrom copies the path of an earlier execution, if the input says that this execution continues
// the earlier conversation. It returns the calls in that path that have no result. The id of a copy
// is derived from this execution's id and the id of the copied entry. Tool calls keep their ids,
// which the client knows.
func (l *loop) copyFrom() ([]call, error) {
	from := l.in.From
	if from == nil {
		return nil, nil
	}
	var open []call
	var path sizedPath
	size := 0
	for e, err := range l.ctx.PathOf(from.ExecutionID, from.EntryID) {
		if err != nil {
			return nil, err
		}
		m, err := e.Message()
		if err != nil {
			return nil, err
		}
		open = openAfter(open, m)
		// An older version, which did not check the parts of messages, may have stored the entry.
		m.Parts = perdure.BoundedParts(m.Role, perdure.AcceptableParts(m.Role, m.Parts))
		if _, err := l.ctx.Append(m, agent.WithEntryID(l.derived(e.ID)), agent.WithKey("from:"+e.ID.String()), l.asCopyOf(e)); err != nil {
			return nil, err
		}
		path.add(e, llm.EstimateMessage(m, l.anyLimits()))
		if size += len(e.Content); size > copyBytes {
			size = 0
			if err := l.ctx.Flush(); err != nil {
				return nil, err
			}
		}
	}
	tokens, err := path.context()
	l.st.Size.New = tokens
	return open, err
}

// asCopyOf returns an append option for the copy of the entry e. The copy gets the type, turn,
// response and message of e.
func (l *loop) asCopyOf(e perdure.Entry) agent.AppendOption {
	return func(made *perdure.Entry) {
		made.Type, made.TurnID, made.ResponseID, made.MessageID = e.Type, e.TurnID, e.ResponseID, e.MessageID
		if record, err := e.Compaction(); err == nil && e.Type == perdure.EntryCompaction {
			agent.AsCompaction(l.copiedRecord(record))(made)
			return
		}
		if id, err := uuid.Parse(e.MessageID); err == nil {
			made.MessageID = l.derived(id).String()
		}
	}
}

// copiedRecord returns a copy of a compaction record, in which each entry id is replaced by the id of that
// entry's copy.
func (l *loop) copiedRecord(r perdure.CompactionRecord) perdure.CompactionRecord {
	if r.Last != uuid.Nil {
		r.Last = l.derived(r.Last)
	}
	if r.KeepFrom != nil {
		id := l.derived(*r.KeepFrom)
		r.KeepFrom = &id
	}
	r.Pinned = slices.Clone(r.Pinned)
	for i, id := range r.Pinned {
		r.Pinned[i] = l.derived(id)
	}
	return r
}

func (l *loop) derived(from uuid.UUID) uuid.UUID { return uuid.NewSHA1(l.ctx.ID(), from[:]) }

func openAfter(open []call, m perdure.Message) []call {
	for _, p := range m.ToolCalls() {
		open = append(open, call{ID: p.ID, Name: p.Name, Client: true})
	}
	for _, p := range m.Parts {
		if p.Type == perdure.PartToolResult {
			open = slices.DeleteFunc(open, func(c call) bool { return c.ID == p.ToolCallID })
		}
	}
	return open
}
