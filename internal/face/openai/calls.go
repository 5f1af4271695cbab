package openai

import (
	"encoding/json"
	"strings"

	"github.com/perdure/perdure"
	logfold "github.com/perdure/perdure/internal/log/fold"
)

// serverLabel is the server_label of calls of tools that run on workers. OpenAI's clients run every
// function_call themselves, so such a call is shown as an mcp_call, which OpenAI defines for calls
// that run on a server.
const serverLabel = "perdure"

// open returns the ids of the calls for which the client must send a result, in the order of the
// calls.
func (f *fold) open() []string {
	var ids []string
	for _, g := range f.calls {
		if g.Type == itemCall && g.result == nil {
			ids = append(ids, g.part.ID)
		}
	}
	return ids
}

// called adds a complete tool call to the response's output. Incomplete calls are not shown,
// because a client may only run a call that is stored.
func (f *fold) called(e logfold.Event, of *logfold.Part) {
	p := of.Stored
	arguments := of.Call.Arguments()
	if arguments == "" {
		arguments = "{}"
	}
	var g *growing
	if f.request.isClients(p.Name) {
		g = f.callOfClient(p, arguments)
	} else {
		g = f.callHere(p, arguments)
	}
	g.entry, g.part = e.Entry.ID, p
	f.parts[of] = g
	f.calls = append(f.calls, g)
}

// callOfClient adds to the output a call of a tool that the client runs.
func (f *fold) callOfClient(p perdure.Part, arguments string) *growing {
	g := f.add(Item{Type: itemCall, Status: statusInProgress, CallID: p.ID, Name: p.Name}, "")
	f.argumentsOf(g, "response.function_call_arguments", arguments)
	g.Arguments, g.Status = arguments, statusCompleted
	f.itemDone(g)
	return g
}

// callHere adds to the output a call of a tool that a worker runs. The item is done when the tool's
// result is stored.
func (f *fold) callHere(p perdure.Part, arguments string) *growing {
	g := f.add(Item{Type: itemToolCall, Status: statusInProgress, Name: p.Name}, "")
	f.emitAt(g, "response.mcp_call.in_progress")
	f.argumentsOf(g, "response.mcp_call_arguments", arguments)
	g.Arguments = arguments
	return g
}

// argumentsOf emits the events that contain the arguments of a call.
func (f *fold) argumentsOf(g *growing, event, arguments string) {
	f.emit(event+".delta", func(h head) any {
		return struct {
			at
			Delta string `json:"delta"`
		}{g.at(h), arguments}
	})
	name := ""
	if g.Type == itemCall {
		name = g.Name // the event of an mcp_call has no name
	}
	f.emit(event+".done", func(h head) any {
		return struct {
			at
			Name      string `json:"name,omitempty"`
			Arguments string `json:"arguments"`
		}{g.at(h), name, arguments}
	})
}

// emitAt emits an event about an item. The event has only the members that identify the item.
func (f *fold) emitAt(g *growing, kind string) {
	f.emit(kind, func(h head) any { return g.at(h) })
}

// answeredCalls applies the results of calls that the model has made in this response. Results of
// calls of earlier responses are ignored, because they are part of the input.
func (f *fold) answeredCalls(changes []logfold.Change) {
	for _, c := range changes {
		g := f.parts[c.Part]
		if c.Kind != logfold.CallAnswered || g == nil || g.result != nil {
			continue
		}
		g.result = c.Part.Call.Result
		if g.Type == itemToolCall {
			f.resulted(g, *g.result)
		}
	}
}

// resulted ends the item of a call of a tool that a worker has run.
func (f *fold) resulted(g *growing, p perdure.Part) {
	text := resultText(p.Parts)
	if p.IsError {
		g.Status, g.Failure = statusFailed, &text
	} else {
		g.Status, g.Result = statusCompleted, &text
	}
	f.emitAt(g, "response.mcp_call."+g.Status)
	f.itemDone(g)
}

// resultText returns a tool's result as text, because this API shows only text to a client. The
// model gets the complete result.
func resultText(parts []perdure.Part) string {
	var texts []string
	for _, p := range parts {
		switch p.Type {
		case perdure.PartText:
			texts = append(texts, p.Text)
		default:
			texts = append(texts, "("+p.Describe()+")")
		}
	}
	return strings.Join(texts, "\n")
}

// toolError is the error of a failed tool in the shape of OpenAI's API.
type toolError struct {
	Type    string    `json:"type"`
	Content []Content `json:"content"`
}

func (i Item) marshalToolCall() ([]byte, error) {
	var failure *toolError
	if i.Failure != nil {
		failure = &toolError{"mcp_tool_execution_error", []Content{{Type: "text", Text: *i.Failure}}}
	}
	var approval *string
	if i.Approval != "" {
		approval = &i.Approval
	}
	return json.Marshal(struct {
		Type        string     `json:"type"`
		ID          string     `json:"id"`
		Status      string     `json:"status"`
		ServerLabel string     `json:"server_label"`
		Name        string     `json:"name"`
		Arguments   string     `json:"arguments"`
		Output      *string    `json:"output"`
		Error       *toolError `json:"error"`
		Approval    *string    `json:"approval_request_id"`
	}{i.Type, i.ID, i.Status, serverLabel, i.Name, i.Arguments, i.Result, failure, approval})
}
