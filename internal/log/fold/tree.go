package fold

import (
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/response"
)

// Tree contains the messages of a log: stored messages, and messages that are still being streamed.
type Tree struct {
	// Responses are in the order of their first message.
	Responses []*Response
	// Compactions are in the order in which they were stored.
	Compactions []*Compaction
	// Withdrawn are the seqs of the blocks that were withdrawn, in the order of their withdrawal.
	Withdrawn []int64

	execution uuid.UUID
	blocks    Blocks
	all       []*Part         // those that grew, in the order in which they began
	parts     map[int64]*Part // those that have a block, by its seq
	messages  map[string]*Message
	last      *Message // the last stored one
	calls     map[string]*Call
	attempts  map[uuid.UUID]int // the newest attempt of each task
	changes   []Change          // of the current record
}

// NewTree begins the tree of an execution's log, or of a part of it.
func NewTree(execution uuid.UUID) *Tree {
	return &Tree{
		execution: execution, parts: map[int64]*Part{}, messages: map[string]*Message{}, calls: map[string]*Call{}, attempts: map[uuid.UUID]int{},
	}
}

// Response is the output and the input of an agent from one input to the next.
type Response struct {
	ID    string
	Turns []*Turn

	merger *response.Merger // fed with the contents of stored messages
}

// Merged returns the response's stored messages, merged by the rules of package response, with its
// finish reason and its usage.
func (r *Response) Merged() response.Response { return r.merger.Response() }

// Turn is a model call with its messages and the results of its tool calls.
type Turn struct {
	ID       string
	Messages []*Message
}

// Message is a message of a conversation.
type Message struct {
	ID       string
	Role     perdure.Role
	Response *Response
	Turn     *Turn
	// Entry is the stored message; nil while the message grows.
	Entry *perdure.Entry
	// Content is the decoded content of the entry. It is empty if the tree did not get it.
	Content perdure.Content
	// Parts are in the order in which they began. They include withdrawn parts.
	Parts []*Part
}

// State is the state of a part.
type State int

// States of parts. A part that was closed can still be withdrawn.
const (
	Open      State = iota // its text may grow
	Done                   // its text is complete
	Truncated              // its text is cut off
	Settled                // it is a part of the stored message
	Withdrawn              // it does not count, because its attempt was superseded
)

// Part is a part of a message.
type Part struct {
	Type    perdure.PartType
	Message *Message
	State   State
	// Seq is the seq of the part's block; 0 if it had none.
	Seq int64
	// Stored is the part of the stored message, in a part that is settled.
	Stored perdure.Part
	// Call is the call of a part of type tool call.
	Call *Call

	// Task and Attempt are the source of a part that grew; Task is Nil for the agent itself.
	Task    uuid.UUID
	Attempt int

	text strings.Builder
}

// IsText reports whether the part is a text or a reasoning.
func (p *Part) IsText() bool { return p.Type == perdure.PartText || p.Type == perdure.PartThinking }

// Text returns the text, as stored or as far as it has grown.
func (p *Part) Text() string {
	switch {
	case p.State != Settled:
		return p.text.String()
	case p.Type == perdure.PartThinking:
		return p.Stored.Thinking
	}
	return p.Stored.Text
}

// Call is a tool call.
type Call struct {
	ID, Name string
	// Part is the part of the message that makes the call.
	Part *Part
	// Result is the stored result, or else the result that an event reported; nil if there is none.
	Result *perdure.Part
	// Outputs are the terminal outputs, in the order in which they began.
	Outputs []*Output

	arguments []*Part // the blocks of the arguments
	answered  bool    // Result is stored
}

// Arguments returns the arguments, as stored or as far as they have grown.
func (c *Call) Arguments() string {
	if c.Part != nil && c.Part.State == Settled {
		return c.Part.Stored.RawArguments
	}
	var all strings.Builder
	for _, p := range c.arguments {
		if p.State != Withdrawn {
			all.WriteString(p.text.String())
		}
	}
	return all.String()
}

// Output is a terminal output of a tool.
type Output struct {
	Stream string
	Block  *Part
}

// ChangeKind is the kind of a change.
type ChangeKind int

// Kinds of changes.
const (
	PartOpened    ChangeKind = iota // a part began to grow
	PartGrew                        // Text was added to a part
	PartReplaced                    // Text replaced the text of a part
	PartClosed                      // the text of a part is complete
	PartWithdrawn                   // a part does not count
	MessageStored                   // the message has its entry; changes of its parts follow
	PartSettled                     // a part has its stored form; Part.Seq is 0 if it did not grow before
	CallAnswered                    // a call has its stored result
)

// Change is a change of a tree by a record.
type Change struct {
	Kind    ChangeKind
	Message *Message
	Part    *Part // nil in MessageStored
	Text    string
	// Index is the index of a settled part in its stored message.
	Index int
}

// Part returns the part of the block with that seq; nil if there is none.
func (t *Tree) Part(seq int64) *Part { return t.parts[seq] }

// Response returns the response with that id; nil if there is none.
func (t *Tree) Response(id string) *Response {
	if i := slices.IndexFunc(t.Responses, func(r *Response) bool { return r.ID == id }); i >= 0 {
		return t.Responses[i]
	}
	return nil
}

// Apply applies the next record and returns what it changed. The slice is valid until the next
// call. Errors: internal.
func (t *Tree) Apply(e Event) ([]Change, error) {
	t.changes = t.changes[:0]
	t.attempt(e.Record)
	var err error
	switch r := e.Record; {
	case r.Chunk != nil:
		t.chunk(e)
	case r.Type == perdure.EventBlockClosed:
		err = t.closed(r)
	case r.Type == perdure.EventTaskRetrying, r.Type == perdure.EventTaskInterrupted:
		t.withdrawTask(taskOf(r), r.Attempt+1)
	case r.Type == perdure.EventEntry && e.Entry != nil:
		err = t.entry(r, e.Entry)
	case r.Type == perdure.EventData:
		t.data(r)
	}
	return t.changes, err
}

func (t *Tree) changed(c Change) { t.changes = append(t.changes, c) }

// attempt withdraws what the earlier attempts of a task emitted when another attempt begins.
func (t *Tree) attempt(r *perdure.Record) {
	task := taskOf(r)
	if task == uuid.Nil || r.Attempt <= t.attempts[task] {
		return
	}
	if t.attempts[task] > 0 {
		t.withdrawTask(task, r.Attempt)
	}
	t.attempts[task] = r.Attempt
}

// withdrawTask withdraws the parts that attempts of a task before the given one emitted, unless they
// are stored.
func (t *Tree) withdrawTask(task uuid.UUID, before int) {
	for _, p := range t.all {
		if p.Task == task && p.Attempt < before {
			t.withdraw(p)
		}
	}
}

func (t *Tree) withdraw(p *Part) {
	if p.State == Settled || p.State == Withdrawn {
		return
	}
	p.State = Withdrawn
	if p.Seq > 0 {
		t.Withdrawn = append(t.Withdrawn, p.Seq)
	}
	if p.Call != nil && p.Call.Part == p {
		for _, a := range p.Call.arguments {
			t.withdraw(a)
		}
		delete(t.calls, p.Call.ID)
	}
	t.changed(Change{Kind: PartWithdrawn, Message: p.Message, Part: p})
}

func taskOf(r *perdure.Record) uuid.UUID {
	if r.TaskID == nil {
		return uuid.Nil
	}
	return *r.TaskID
}
