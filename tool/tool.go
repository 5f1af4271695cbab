package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/perdure/perdure"
)

// Tool is a function that a model can call.
type Tool struct {
	// Name is the name by which the model calls the tool. It is also the kind of the tool's tasks.
	Name string
	// Description tells the model what the tool does and when to use it.
	Description string
	// Schema is the JSON Schema (draft 2020-12) of the arguments object.
	Schema json.RawMessage
	// OnLost decides what happens to a call whose worker is lost during the call.
	OnLost perdure.OnLost
	// Barrier says that calls of this tool do not overlap other calls of the same message. All
	// calls of the message keep their order around a call of this tool.
	Barrier bool
	// ReadOnly says that a call changes nothing. Network says that a call may use the network. Both
	// inform people and programs, and enforce nothing.
	ReadOnly, Network bool
	// Timeout is the maximum duration of one attempt of a call. The caller enforces it. 0 means no
	// timeout.
	Timeout time.Duration
	// Run executes a call. Outcomes that a model can read and act on, including failures, are
	// Results. An error is a failure of the environment, or the context's cause if the call was
	// cancelled. A Result returned with an error contains the work done so far.
	Run func(ctx context.Context, call *Call) (Result, error)

	// compiled is the compiled Schema. It is nil in a Tool that was not created by New; Check then
	// compiles Schema.
	compiled *validator
}

// Call is one call of a tool. Every field of a func type may be nil.
type Call struct {
	// Arguments is the raw text of the arguments that the model sent.
	Arguments json.RawMessage
	// Workspace is the folder in which file tools and bash work. If it is nil, they return a result
	// that says that no workspace is configured.
	Workspace *Workspace
	// Net limits the network of this call's commands, in addition to the workspace's limit. The
	// stricter limit applies. "" means no additional limit.
	Net Net
	// Stdout and Stderr receive live terminal output in order. They are never called concurrently.
	// Each slice is valid UTF-8, does not end inside a character, and is valid only during that
	// call of the function. bash uses one pipe for both streams of a command to keep their order,
	// and sends all output to Stdout.
	Stdout, Stderr func([]byte)
	// Emit receives events for the readers of the run. Built-in tools emit values of type Event.
	Emit func(data any)
	// Record records a process group that a tool started, so that the next start can kill the group
	// if this process dies. The function forget removes the record. See Recorder.
	Record func(pgid int) (forget func())
}

// Event is an event that the built-in tools emit. Paths are relative to the workspace and use
// slashes. The types of events are:
type Event struct {
	Type   string   `json:"type"`
	Path   string   `json:"path,omitempty"`
	Action string   `json:"action,omitempty"`
	Fence  string   `json:"fence,omitempty"`
	Limits string   `json:"limits,omitempty"`
	Note   string   `json:"note,omitempty"`
	Paths  []string `json:"paths,omitempty"`
}

// Result is the answer that the model reads.
type Result struct {
	Parts   []perdure.Part `json:"parts"`
	IsError bool           `json:"isError,omitempty"`
}

// Text returns a result with one text part.
func Text(s string) Result { return Result{Parts: []perdure.Part{perdure.Text(s)}} }

// Errorf returns an error result with the formatted text, which the model can read.
func Errorf(format string, args ...any) Result {
	r := Text(fmt.Sprintf(format, args...))
	r.IsError = true
	return r
}

// PlainText returns the joined text of the text parts.
func (r Result) PlainText() string { return perdure.Content{Parts: r.Parts}.PlainText() }

func (c *Call) emit(events ...Event) {
	if c.Emit == nil {
		return
	}
	for _, e := range events {
		c.Emit(e)
	}
}
