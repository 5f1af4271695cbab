package openai

import (
	"encoding/json"
	"strings"

	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/internal/gpt"
)

// toolCalls assigns each fragment of a stream to the tool call to which it belongs. By the
// specification, the first fragment of a call has index, id and name, and later fragments have only
// the index. But some servers repeat id and name in every fragment, give every call the index 0,
// omit the index, or leave the id empty.
type toolCalls struct {
	calls *llm.Calls
	known []*entry
}

// entry is a tool call that is being received.
type entry struct {
	call     *llm.Call
	index    int64
	hasIndex bool
	// empty is the text of the arguments as long as the received text is only {}. This text is
	// withheld, because some servers send {} as a placeholder before the real arguments.
	empty string
	// again is a fragment that repeated the name of the call after the call's arguments were
	// complete. If more arguments follow, that fragment was the beginning of another call.
	again *fragment
}

func (e *entry) whole() bool { return e.empty != "" || llm.IsObject(e.call.Arguments) }

type fragment struct {
	index               int64
	hasIndex            bool
	id, name, arguments string
}

// receivedCall is a fragment of a tool call, in the form of the API.
type receivedCall struct {
	Index    *gpt.Count
	ID       gpt.Text
	Function struct {
		Name      gpt.Text
		Arguments json.RawMessage
	}
}

func fragmentOf(d receivedCall) fragment {
	f := fragment{id: string(d.ID), name: string(d.Function.Name)}
	if d.Index != nil {
		f.index, f.hasIndex = int64(*d.Index), true
	}
	raw := d.Function.Arguments
	if json.Unmarshal(raw, &f.arguments) != nil && strings.HasPrefix(string(raw), "{") {
		f.arguments = string(llm.Escaped(raw)) // some servers send an object instead of a string
	}
	return f
}

func (f fragment) bringsArguments() bool { return strings.TrimSpace(f.arguments) != "" }

func (t *toolCalls) take(f fragment) error {
	e := t.find(f)
	if e != nil && e.again != nil && f.bringsArguments() {
		f.name, f.id = e.again.name, e.again.id
		e.again, e = nil, nil
	}
	if e == nil {
		return t.start(f)
	}
	if !f.bringsArguments() && e.whole() {
		if f.name != "" {
			e.again = &f
		}
		return nil
	}
	if err := t.calls.Identify(e.call, f.name, f.id); err != nil {
		return err
	}
	e.empty = ""
	return t.append(e, f.arguments)
}

func (t *toolCalls) start(f fragment) error {
	call, err := t.calls.Start(f.name, f.id)
	if err != nil {
		return err
	}
	e := &entry{call: call, index: f.index, hasIndex: f.hasIndex}
	t.known = append(t.known, e)
	return t.append(e, f.arguments)
}

func (t *toolCalls) append(e *entry, arguments string) error {
	if e.call.Arguments == "" && strings.TrimSpace(arguments) == "{}" {
		e.empty = arguments
		return nil
	}
	return t.calls.Append(e.call, arguments)
}

// finish ends all tool calls.
func (t *toolCalls) finish() error {
	for _, e := range t.known {
		if err := t.calls.Append(e.call, e.empty); err != nil {
			return err
		}
	}
	return t.calls.Finish()
}

// find returns the tool call to which the fragment f belongs; nil if f begins a new call.
func (t *toolCalls) find(f fragment) *entry {
	for i := len(t.known) - 1; i >= 0; i-- {
		e := t.known[i]
		if !e.fits(f, i == len(t.known)-1) {
			continue
		}
		if e.endsBefore(f) {
			return nil
		}
		return e
	}
	return nil
}

// fits reports whether the fragment f may belong to the call e. Fragments with different ids never
// belong to the same call. If both have an index, the indexes must be equal. Otherwise the ids must
// be equal or, if one of the ids is missing, e must be the newest call.
func (e *entry) fits(f fragment, newest bool) bool {
	bothIndexed := e.hasIndex && f.hasIndex
	switch {
	case f.id != "" && e.call.ID != "" && f.id != e.call.ID:
		return false
	case bothIndexed:
		return e.index == f.index
	case f.id != "" && e.call.ID != "":
		return true
	}
	return newest
}

// endsBefore reports whether the fragment f begins another call, although fits reports that it may
// belong to e. Only a fragment with a name can begin a call. The fragment f begins another call if
// its name differs from the name of e, or if the arguments of e are complete and f has further
// arguments, or has an id while e has none.
func (e *entry) endsBefore(f fragment) bool {
	if f.name == "" {
		return false
	}
	if e.call.Name != "" && f.name != e.call.Name {
		return true
	}
	newID := f.id != "" && e.call.ID == ""
	return (f.bringsArguments() || newID) && e.whole()
}
