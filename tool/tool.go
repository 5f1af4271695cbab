package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/perdure/perdure"
)

// Tool is something a model can call.
type Tool struct {
	// Name is what the model and the task kind call it.
	Name string
	// Description tells the model what it does and when to use it.
	Description string
	// Schema is the JSON Schema (draft 2020-12) of the arguments object.
	Schema json.RawMessage
	// OnLost says what becomes of a call whose worker is lost in its middle.
	OnLost perdure.OnLost
	// Barrier tools run alone, in call order, among the calls of one message.
	Barrier bool
	// Timeout bounds one attempt; the caller applies it. 0 is none.
	Timeout time.Duration
	// Run does the work. What a model can read and act on, failures included,
	// is a Result; an error is a failure of the surroundings, or the context's
	// cause if the call was cancelled. A Result given together with an error
	// holds what was done until then.
	Run func(ctx context.Context, call *Call) (Result, error)

	// compiled is nil in a Tool made by hand; Check then compiles Schema itself.
	compiled *validator
}

// Call is one call of a tool. Every func may be nil.
type Call struct {
	// Arguments is the raw text received from the model.
	Arguments json.RawMessage
	// Workspace is where file tools and bash work. Without one, nil, they answer
	// that none is configured.
	Workspace *Workspace
	// Net limits the network of this call's commands, besides the workspace's own
	// limit: the stricter of both holds. "" is no limit.
	Net Net
	// Stdout and Stderr receive live terminal output: valid UTF-8 that never
	// ends inside a character, in order, never concurrently. The slice is the
	// callee's for the time of the call only. bash has one pipe for both streams of
	// a command, so that their order is kept, and gives all to Stdout.
	Stdout, Stderr func([]byte)
	// Emit receives application events (type Event from the built-in tools).
	Emit func(data any)
	// Record notes a process group that was started, so that the next start can
	// kill it if this process dies; forget removes the note. See Recorder.
	Record func(pgid int) (forget func())
}

// Event is what the built-in tools emit: file_read and file_write with a path,
// artifact with a path and an action, created or modified; tool.confined or
// tool.unconfined once a run and worker, with the fence of bash, what it leaves open,
// and what holds the limits of memory and processes: cgroup, watcher or none; tool.guarded_change with the paths that a command changed although they
// run outside of the fence later. Paths are relative to the workspace, with
// slashes.
type Event struct {
	Type   string   `json:"type"`
	Path   string   `json:"path,omitempty"`
	Action string   `json:"action,omitempty"`
	Fence  string   `json:"fence,omitempty"`
	Limits string   `json:"limits,omitempty"`
	Note   string   `json:"note,omitempty"`
	Paths  []string `json:"paths,omitempty"`
}

// Result is what the model reads.
type Result struct {
	Parts   []perdure.Part `json:"parts"`
	IsError bool           `json:"isError,omitempty"`
}

// Text is a result of one text part.
func Text(s string) Result { return Result{Parts: []perdure.Part{perdure.Text(s)}} }

// Errorf is an error that the model can read.
func Errorf(format string, args ...any) Result {
	r := Text(fmt.Sprintf(format, args...))
	r.IsError = true
	return r
}

// PlainText joins the text parts.
func (r Result) PlainText() string { return perdure.Content{Parts: r.Parts}.PlainText() }

func (c *Call) emit(events ...Event) {
	if c.Emit == nil {
		return
	}
	for _, e := range events {
		c.Emit(e)
	}
}
