package llm

import (
	"strings"

	"github.com/perdure/perdure"
)

// Calls assembles the tool calls of one response. It adds them to a Builder, and corrects known
// mistakes of servers. Two calls with the same id, name and arguments are one call, which the
// server sent twice. Calls that share an id but differ otherwise are separate calls.
//
// A call without a name gets the name perdure.UnnamedTool, and the agent answers it with an error.
// The response is not refused, because it has been paid for, and a retry may contain the same
// mistake.
type Calls struct {
	builder *Builder
	all     []*Call
}

// Call is a tool call that is being received.
type Call struct {
	Name, ID, Arguments string

	grown   GrowingText // the arguments so far
	part    int         // index of the part in builder; -1 before the first delta
	halves  joiner
	suspect bool
	ended   bool
}

// NewCalls creates a Calls that adds tool calls to builder. The second argument has no effect.
func NewCalls(builder *Builder, _ string) *Calls { return &Calls{builder: builder} }

// All returns the calls received so far in order of arrival, including repeated ones.
func (c *Calls) All() []*Call { return c.all }

// Start begins a tool call. A call that has the id of an earlier call may repeat that call, so a
// call with a repeated id is emitted only after its end.
func (c *Calls) Start(name, id string) (*Call, error) {
	name, id = c.builder.joined(name), c.builder.joined(id)
	call := &Call{Name: name, ID: id, part: -1, suspect: c.seen(id)}
	c.all = append(c.all, call)
	return call, c.emitStart(call)
}

func (c *Calls) seen(id string) bool {
	for _, call := range c.all {
		if id != "" && call.ID == id {
			return true
		}
	}
	return false
}

func (c *Calls) emitStart(call *Call) error {
	if call.suspect || call.Name == "" || call.part >= 0 {
		return nil
	}
	part, err := c.builder.StartTool(call.Name, call.ID)
	call.part = part
	if err != nil {
		return err
	}
	return c.builder.ToolArguments(part, call.Arguments)
}

// Identify sets the call's name or id if it was empty at the start.
func (c *Calls) Identify(call *Call, name, id string) error {
	name, id = c.builder.joined(name), c.builder.joined(id)
	if call.ID == "" && id != "" {
		call.ID = id
		if call.part >= 0 {
			c.builder.NameTool(call.part, id)
		}
	}
	if call.Name == "" {
		call.Name = name
	}
	return c.emitStart(call)
}

// Append appends a piece of text to a call's arguments.
func (c *Calls) Append(call *Call, arguments string) error {
	if c.builder.wire {
		arguments = call.halves.join(arguments)
	}
	return c.AppendRaw(call, arguments)
}

// Complete appends the rest of a call's arguments. The parameter `whole` is the complete text of
// the arguments. If `whole` does not begin with the arguments received so far, Complete does
// nothing.
func (c *Calls) Complete(call *Call, whole string) error {
	rest, ok := strings.CutPrefix(c.builder.joined(whole), call.Arguments)
	if !ok {
		return nil
	}
	call.halves = joiner{} // rest contains the half of a surrogate pair that was withheld
	return c.AppendRaw(call, rest)
}

// AppendRaw appends a piece of text to a call's arguments, as Append does. The piece must not come
// from a body that was read through MarkHalves.
func (c *Calls) AppendRaw(call *Call, arguments string) error {
	call.Arguments = call.grown.Add(arguments)
	if call.part < 0 {
		return nil
	}
	return c.builder.ToolArguments(call.part, arguments)
}

// End ends a tool call. If the call repeats an earlier call, End discards it. Otherwise End adds
// the call to the response. A second End of the same call does nothing.
func (c *Calls) End(call *Call) error {
	if call.ended {
		return nil
	}
	call.ended = true
	if call.Name == "" {
		call.Name = perdure.UnnamedTool
	}
	if err := c.AppendRaw(call, call.halves.end()); err != nil {
		return err
	}
	if call.suspect && c.repeats(call) {
		return nil
	}
	call.suspect = false
	if err := c.emitStart(call); err != nil {
		return err
	}
	return c.builder.EndTool(call.part)
}

// Sign stores the provider's signature of an ended call. It does nothing for a call that End has
// discarded.
func (c *Calls) Sign(call *Call, signature string) {
	if call.part >= 0 {
		c.builder.parts[call.part].ThinkingSignature = signature
	}
}

func (c *Calls) repeats(call *Call) bool {
	for _, earlier := range c.all {
		if earlier == call {
			return false
		}
		if earlier.ID == call.ID && earlier.Name == call.Name && earlier.Arguments == call.Arguments {
			return true
		}
	}
	return false
}

// Finish ends all calls that have not ended, in order of arrival.
func (c *Calls) Finish() error {
	for _, call := range c.all {
		if err := c.End(call); err != nil {
			return err
		}
	}
	return nil
}
