package openaiapi

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/perdure/perdure"
)

// serverLabel names Perdure in calls of tools that run on workers. OpenAI's clients run each
// function_call themselves, so such a call is shown as an mcp_call, a call that a server runs.
const serverLabel = "perdure"

// open returns the calls that the response leaves to the client, in call order.
func (f *fold) open() []string {
	return slices.DeleteFunc(slices.Clone(f.order), func(id string) bool {
		g := f.calls[id]
		return g.Type != itemCall || g.result != nil
	})
}

// called shows a complete call. Incomplete calls are never shown, because only a stored call may be
// run.
func (f *fold) called(r record, p perdure.Part) {
	arguments := p.RawArguments
	if arguments == "" {
		arguments = "{}"
	}
	var g *growing
	if f.request.isClients(p.Name) {
		g = f.callOfClient(p, arguments)
	} else {
		g = f.callHere(p, arguments)
	}
	g.entry, g.part = r.EntryID, p
	f.calls[p.ID] = g
	f.order = append(f.order, p.ID)
}

// callOfClient shows a call that the client answers.
func (f *fold) callOfClient(p perdure.Part, arguments string) *growing {
	g := f.add(Item{Type: itemCall, Status: statusInProgress, CallID: p.ID, Name: p.Name}, "")
	f.argumentsOf(g, "response.function_call_arguments", arguments)
	g.Arguments, g.Status = arguments, statusCompleted
	f.itemDone(g)
	return g
}

// callHere shows a call of a tool that runs at Perdure. The item is done when the result is stored.
func (f *fold) callHere(p perdure.Part, arguments string) *growing {
	g := f.add(Item{Type: itemToolCall, Status: statusInProgress, Name: p.Name}, "")
	f.emitAt(g, "response.mcp_call.in_progress")
	f.argumentsOf(g, "response.mcp_call_arguments", arguments)
	g.Arguments = arguments
	return g
}

// argumentsOf emits the events with the arguments of a call.
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

// emitAt emits an event that contains only the place of its item.
func (f *fold) emitAt(g *growing, kind string) {
	f.emit(kind, func(h head) any { return g.at(h) })
}

// answeredCalls applies the results of calls made in this response. Results of earlier calls are
// input of the response.
func (f *fold) answeredCalls(c perdure.Content) {
	for _, p := range c.Parts {
		g := f.calls[p.ToolCallID]
		if p.Type != perdure.PartToolResult || g == nil || g.result != nil {
			continue
		}
		if g.Type == itemToolCall {
			f.resulted(g, p)
		}
		g.result = &p
	}
}

// resulted ends the item of a call of a tool that runs at Perdure.
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

// resultText returns a tool's result as text, which is all that this API can show to a client. The
// model gets the whole result.
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

// toolError is the error of a failed tool in OpenAI's shape.
type toolError struct {
	Type    string    `json:"type"`
	Content []Content `json:"content"`
}

func (i Item) marshalToolCall() ([]byte, error) {
	var failure *toolError
	if i.Failure != nil {
		failure = &toolError{"mcp_tool_execution_error", []Content{{Type: "text", Text: *i.Failure}}}
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
	}{i.Type, i.ID, i.Status, serverLabel, i.Name, i.Arguments, i.Result, failure, nil})
}
