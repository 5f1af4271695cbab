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
	// OnLost says what happens to a call if its worker is lost during the call.
	OnLost perdure.OnLost
	// Barrier says that a call of this tool runs alone: after the calls that precede it in the same
	// message, and before those that follow it.
	Barrier bool
	// ReadOnly says that a call changes nothing. Network says that a call may use the network. Both
	// inform people and programs, and enforce nothing.
	ReadOnly, Network bool
	// Timeout is the maximum duration of one attempt to run a call; 0 means no timeout. The caller of Run
	// enforces it.
	Timeout time.Duration
	// Run runs a call. It returns a Result for every outcome to which a model can react, including
	// failures. It returns an error if the environment has failed, or the cause of ctx if the call
	// was cancelled. If it returns both, the Result says what was done before the error.
	Run func(ctx context.Context, call *Call) (Result, error)

	// compiled is the compiled Schema. It is nil in a Tool that New has not created; Check then compiles
	// the Schema itself.
	compiled *validator
}

// Call is one call of a tool. Every field of a func type may be nil.
type Call struct {
	// Arguments is the text of the arguments exactly as the model sent it.
	Arguments json.RawMessage
	// Workspace is the folder in which file tools and bash work. If it is nil, these tools return a result
	// which says that there is no workspace.
	Workspace *Workspace
	// Net limits the network access of this call's commands. If the limit of the workspace is
	// stricter, that limit applies. "" means the limit of the workspace.
	Net Net
	// Stdout and Stderr receive the output of a command while it runs, in the order in which the
	// command writes it. They are never called concurrently. Each slice is valid UTF-8, does not
	// end inside a character, and may be used only until the function returns. bash reads both
	// outputs of a command from one pipe to keep their order, and calls only Stdout.
	Stdout, Stderr func([]byte)
	// Emit receives the events that clients who watch the run are to see. Built-in tools emit
	// values of type Event.
	Emit func(data any)
	// Record stores the id of a process group that a tool has started. If this process dies, the
	// program can kill the group at its next start. The result `forget` removes the stored id. See
	// Recorder.
	Record func(pgid int) (forget func())
}

// Event is an event that the built-in tools emit. Paths are relative to the workspace and use
// slashes. The types of events are:
//
//   - file_read, file_write: a path.
//   - artifact: a path and an action, created or modified.
//   - tool.confined, tool.unconfined: how bash is confined (Fence), what that does not prevent
//     (Note), and what enforces the limits of memory and processes (Limits).
//   - tool.guarded_change: the paths that a command changed and that programs outside the sandbox
//     later run or read as configuration.
type Event struct {
	Type   string   `json:"type"`
	Path   string   `json:"path,omitempty"`
	Action string   `json:"action,omitempty"`
	Fence  string   `json:"fence,omitempty"`
	Limits string   `json:"limits,omitempty"`
	Note   string   `json:"note,omitempty"`
	Paths  []string `json:"paths,omitempty"`
}

// Result is what the model reads as the outcome of a call.
type Result struct {
	Parts   []perdure.Part `json:"parts"`
	IsError bool           `json:"isError,omitempty"`
}

// Text returns a result with one text part.
func Text(s string) Result { return Result{Parts: []perdure.Part{perdure.Text(s)}} }

// Errorf returns a result that is an error, with the formatted text for the model.
func Errorf(format string, args ...any) Result {
	r := Text(fmt.Sprintf(format, args...))
	r.IsError = true
	return r
}

// PlainText returns the texts of the result's text parts, joined.
func (r Result) PlainText() string { return perdure.Content{Parts: r.Parts}.PlainText() }

func (c *Call) emit(events ...Event) {
	if c.Emit == nil {
		return
	}
	for _, e := range events {
		c.Emit(e)
	}
}
