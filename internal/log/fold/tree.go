package fold

import (
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/response"
)

// Tree contains the messages that the records of a log describe: stored messages, and messages
// that are still being streamed.
type Tree struct {
	// Responses are sorted by their first message.
	Responses []*Response
	// Compactions are sorted by the time at which they were stored.
	Compactions []*Compaction
	// Withdrawn are the seqs of the blocks that were withdrawn, in the order in which that happened.
	Withdrawn []int64

	execution uuid.UUID
	blocks    Blocks
	all       []*Part         // the parts that were streamed, in the order in which they began
	parts     map[int64]*Part // the parts that belong to a block, by the seq of the block
	messages  map[string]*Message
	last      *Message // the last stored message
	calls     map[string]*Call
	attempts  map[uuid.UUID]int // the newest attempt of each task
	changes   []Change          // what the current record has changed
}

// NewTree creates an empty tree for the log of an execution, or for a part of the log.
func NewTree(execution uuid.UUID) *Tree {
	return &Tree{
		execution: execution, parts: map[int64]*Part{}, messages: map[string]*Message{}, calls: map[string]*Call{}, attempts: map[uuid.UUID]int{},
	}
}

// Response is one input of an agent, together with the output until the agent's next input.
type Response struct {
	ID    string
	Turns []*Turn

	merger *response.Merger // merges the contents of the stored messages
}

// Merged returns the stored messages of the response in the form of package response. It includes
// the finish reason and the token usage.
func (r *Response) Merged() response.Response { return r.merger.Response() }

// Turn is a model call with its messages and the results of its tool calls.
type Turn struct {
	ID       string
	Messages []*Message
}

// Message is a message of a conversation, stored or still being streamed.
type Message struct {
	ID       string
	Role     perdure.Role
	Response *Response
	Turn     *Turn
	// Entry is the stored message. It is nil while the message is streamed.
	Entry *perdure.Entry
	// Content is the decoded content of Entry. It is empty if the tree got the entry without its
	// content.
	Content perdure.Content
	// Parts are sorted by the time at which they began. They include withdrawn parts.
	Parts []*Part
}

// State is the state of a part.
type State int

// These are the states of parts. A part that is done can still be withdrawn.
const (
	Open      State = iota // its text may still grow
	Done                   // its text is complete
	Truncated              // its text was cut off
	Settled                // it is part of the stored message
	Withdrawn              // it was superseded by another attempt
)

// Part is a part of a message.
type Part struct {
	Type    perdure.PartType
	Message *Message
	State   State
	// Seq is the seq of the block that the part was streamed in; 0 if it was not streamed.
	Seq int64
	// Stored is the stored form of the part. It is set if State is Settled.
	Stored perdure.Part
	// Call is the tool call. It is set if Type is tool call.
	Call *Call

	// Task and Attempt say which attempt of a task has streamed the part. Task is uuid.Nil if the
	// agent itself has streamed it.
	Task    uuid.UUID
	Attempt int

	text strings.Builder
}

// IsText reports whether the part is text or reasoning.
func (p *Part) IsText() bool { return p.Type == perdure.PartText || p.Type == perdure.PartThinking }

// Text returns the stored text. If the part is not stored yet, it returns the text streamed until
// now.
func (p *Part) Text() string {
	switch {
	case p.State != Settled:
		return p.text.String()
	case p.Type == perdure.PartThinking:
		return p.Stored.Thinking
	}
	return p.Stored.Text
}

// Call is a tool call of the model.
type Call struct {
	ID, Name string
	// Part is the message part that contains the call.
	Part *Part
	// Result is the stored result. While the store has no result, Result is the result that an
	// event has reported; nil if there is none.
	Result *perdure.Part
	// Outputs are the terminal outputs of the tool, in the order in which they began.
	Outputs []*Output

	arguments []*Part // the blocks of the arguments
	answered  bool    // Result is the stored result
}

// Arguments returns the stored arguments. If the call is not stored yet, it returns the arguments
// streamed until now.
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

// ChangeKind says what a Change has changed.
type ChangeKind int

// These are the kinds of changes.
const (
	PartOpened    ChangeKind = iota // a part began to grow
	PartGrew                        // Text was added to a part
	PartReplaced                    // Text replaced the text of a part
	PartClosed                      // the text of a part is complete
	PartWithdrawn                   // a part was superseded and no longer counts
	MessageStored                   // a message was stored; the changes of its parts follow
	PartSettled                     // a part got its stored form; Part.Seq is 0 if it was not streamed
	CallAnswered                    // a tool call got its stored result
)

// Change is one change that a record has made to a tree.
type Change struct {
	Kind    ChangeKind
	Message *Message
	Part    *Part // nil if Kind is MessageStored
	Text    string
	// Index is the index of the part in the stored message. It is set if Kind is PartSettled.
	Index int
}

// Part returns the part that belongs to the block with the seq; nil if there is none.
func (t *Tree) Part(seq int64) *Part { return t.parts[seq] }

// Response returns the response with the id; nil if there is none.
func (t *Tree) Response(id string) *Response {
	if i := slices.IndexFunc(t.Responses, func(r *Response) bool { return r.ID == id }); i >= 0 {
		return t.Responses[i]
	}
	return nil
}

// Apply applies the next record of the log to the tree and returns what has changed. The slice is
// valid until the next call. Errors: internal.
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

// attempt handles the first record of a new attempt of a task. It withdraws the parts that earlier
// attempts have streamed.
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

// withdrawTask withdraws those parts of a task that were streamed by attempts with a number less
// than `before`. Stored parts remain.
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
