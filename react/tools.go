package react

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/tool"
)

// tools runs the next group of the turn's calls, and stores the results in the order of the calls.
// (See pending.next.) If a user message has arrived, tools skips the calls that have not begun. If
// only calls of client tools remain, tools ends the response.
func (l *loop) tools() error {
	p := l.st.Pending
	if p.Running == 0 {
		if stops, err := l.interrupted(); stops || err != nil {
			return err
		}
		steered, err := l.ctx.HasSignal(perdure.UserMessage)
		if err != nil {
			return err
		}
		if steered {
			return l.skipRest()
		}
		if rest := p.Calls[p.Done:]; rest[0].Client {
			l.st.Open = rest
			return l.endResponse(perdure.StopToolUse, "")
		}
		if err := l.startGroup(); err != nil {
			return err
		}
	}
	group := p.Calls[p.Done : p.Done+p.Running]
	message, err := l.awaitApprovals(group)
	if err != nil || l.st.Stopping != nil {
		return err
	}
	if err := l.finishGroup(group); err != nil || l.st.Stopping != nil {
		return err
	}
	p.Done += p.Running
	p.Running = 0
	if message != nil {
		return l.steered(*message)
	}
	if p.Done == len(p.Calls) {
		l.st.Pending = nil
	}
	return nil
}

// skipRest stores the result "skipped" for each call of the turn that has not begun, and ends the
// turn.
func (l *loop) skipRest() error {
	p := l.st.Pending
	l.st.Pending = nil
	return l.skip(p.Calls[p.Done:])
}

// startGroup schedules the tasks of the next group of calls. The same commit stores a checkpoint with the
// ids of these tasks.
func (l *loop) startGroup() error {
	p := l.st.Pending
	p.Running = len(begun(p.Calls[p.Done:p.Done+p.next()], l.beginCall))
	return l.save("tool calls")
}

// scheduleCall schedules the task of a call.
func (l *loop) scheduleCall(c *call, input json.RawMessage, options []agent.TaskOption) {
	t, _ := l.tool(c.Name)
	at := l.ctx.Place()
	at.ToolCallID = c.ID
	// The id of the call is the key of the task. So a command that occurs in two calls is run
	// twice, but a call that was scheduled before a crash gets no second task.
	future := l.ctx.Schedule(c.Name, input, append(options,
		agent.Key(c.ID), agent.Attempts(1), agent.OnLost(t.OnLost), agent.Timeout(t.Timeout), agent.At(at))...)
	if future.Err() != nil {
		c.Refused = future.Err().Error()
		return
	}
	id := future.ID
	c.Task, c.Arguments = &id, ""
}

// finishGroup waits for the tasks of a group and stores their results. It stops waiting if a person
// stops the turn.
func (l *loop) finishGroup(group []call) error {
	var futures []agent.Future
	for _, c := range group {
		if c.Task != nil {
			futures = append(futures, agent.FutureOf(*c.Task, c.Name))
		}
	}
	var results []agent.Result
	if len(futures) > 0 {
		var err error
		if results, err = l.await(futures...); err != nil || results == nil {
			return err
		}
	}
	for _, c := range group {
		if c.Task == nil {
			if err := l.storeResult(c, tool.Errorf("%s", c.Refused), nil); err != nil {
				return err
			}
			continue
		}
		if err := l.storeResult(c, resultOf(results[0]), results[0].Task); err != nil {
			return err
		}
		results = results[1:]
	}
	return nil
}

// resultOf returns the result that the model reads for an ended task: the tool's result, or an error text.
func resultOf(r agent.Result) tool.Result {
	if err := r.Err(); err != nil {
		message := err.Error()
		var failed *perdure.TaskError
		if errors.As(err, &failed) {
			message = failed.Message
		}
		if r.Task.Status == perdure.TaskInterrupted {
			message += ". Look at what it left behind before you run it again."
		}
		return tool.Errorf("%s", message)
	}
	var result tool.Result
	if err := json.Unmarshal(r.Task.Result, &result); err != nil {
		return tool.Errorf("the tool gave a result that does not decode: %v", err)
	}
	return result
}

// maxEventResult is the maximum number of bytes of a result's text in a tool_call_end event. The entry of
// the result contains the whole text.
const maxEventResult = 16 << 10

// storeResult appends the result of a call to the conversation and emits its tool_call_end event.
// If the result cannot be stored, an error result is stored in its place.
func (l *loop) storeResult(c call, result tool.Result, t *perdure.Task) error {
	if t == nil {
		c.Edited = "" // the call was not run
	}
	m, result, err := storable(c, result)
	if err != nil {
		return err
	}
	key := "call:" + c.ID
	if t != nil {
		key = perdure.TaskEntryKey(t.ID)
	}
	if err := l.append(m, agent.WithKey(key)); err != nil {
		return err
	}
	at := l.ctx.Place()
	defer l.ctx.SetPlace(at)
	with := at
	with.ToolCallID = c.ID
	l.ctx.SetPlace(with)
	text := result.PlainText()
	shown := map[string]any{"isError": result.IsError, "text": text}
	if len(text) > maxEventResult {
		shown["text"], shown["truncated"] = cut(text, maxEventResult), true
	}
	return l.ctx.Emit(map[string]any{
		"type": "tool_call_end", "tool_call": map[string]any{"id": c.ID, "name": c.Name}, "result": shown,
	})
}

// storable returns a message with the result of a call, and the result in that message. If the
// tool's result cannot be part of a conversation, both contain an error instead, because the result
// of a tool must not end the run.
func storable(c call, result tool.Result) (perdure.Message, tool.Result, error) {
	if c.Edited != "" {
		result.Parts = append([]perdure.Part{perdure.Text(editedNote + c.Edited)}, result.Parts...)
	}
	// A custom tool may return too many parts, or parts that a conversation cannot contain.
	result.Parts = perdure.BoundedResult(perdure.AcceptableResult(result.Parts))
	if result.Parts == nil {
		result.Parts = []perdure.Part{}
	}
	m, err := resultMessage(c, result)
	if err != nil {
		result = tool.Errorf("the tool gave a result that cannot be kept: %s", reason(err))
		m, err = resultMessage(c, result)
	}
	return m, result, err
}

// editedNote is the beginning of the result of a call whose arguments a person has changed. The changed
// arguments follow.
const editedNote = "A person changed the arguments of this call before it was run. It was run with "

// resultMessage returns the message with the result of a call. Errors: those of
// perdure.CheckMessages.
func resultMessage(c call, result tool.Result) (perdure.Message, error) {
	parts := []perdure.Part{{Type: perdure.PartToolResult, ToolCallID: c.ID, ToolName: c.Name, Parts: result.Parts, IsError: result.IsError}}
	m := perdure.Message{Role: perdure.RoleToolResult, Content: perdure.Content{Parts: parts}}
	return m, perdure.CheckMessages("result", []string{c.ID}, []perdure.InputMessage{{Role: m.Role, Parts: parts}})
}

// cut returns the first maxBytes bytes of text, or up to three fewer, so that no character is split. The
// text must be longer than maxBytes.
func cut(text string, maxBytes int) string {
	for maxBytes > 0 && text[maxBytes]&0xC0 == 0x80 {
		maxBytes--
	}
	return text[:maxBytes]
}

// toolTask returns the task kind that runs the tool t. A failure that the tool reports in its
// Result is a result that the model reads. The task fails if the tool returns an error, or if the
// workspace cannot be opened.
func toolTask(c Config, t tool.Tool) agent.TaskDefinition {
	return agent.TaskDefinition{
		Spec:     perdure.KindSpec{Kind: t.Name, Description: t.Description, InputSchema: t.Schema},
		Confines: true, // see runTool
		Run: func(ctx agent.TaskContext, input json.RawMessage) (json.RawMessage, error) {
			result, err := runTool(ctx, c, t, input)
			if err != nil {
				return nil, err
			}
			return json.Marshal(result)
		},
	}
}

func runTool(ctx agent.TaskContext, c Config, t tool.Tool, input json.RawMessage) (tool.Result, error) {
	input, net := limitOf(t.Name, input)
	options := ctx.Task().Options
	if options.Net != "" {
		net = tool.Net(options.Net)
	}
	if refused := t.Check(input); refused != nil {
		return *refused, nil
	}
	workspace, err := openWorkspace(ctx, c)
	if err != nil {
		return tool.Result{}, agent.Permanent(err)
	}
	if workspace != nil {
		defer workspace.Close()
		workspace.ForRun(ctx.Task().ExecutionID.String())
	}
	if options.Requires == perdure.RequiresConfined && !confines(workspace) {
		ctx.Stream().Data(map[string]any{"type": "tool.not_run", "reason": "unconfined"})
		return tool.Errorf("not run: this worker cannot confine commands"), nil
	}
	stream := ctx.Stream()
	result, err := callTool(ctx, c, t, &tool.Call{
		Arguments: input, Workspace: workspace, Net: net,
		Stdout: func(p []byte) { stream.Terminal("stdout", p) },
		Stderr: func(p []byte) { stream.Terminal("stderr", p) },
		Emit:   func(data any) { stream.Data(data) },
		Record: c.Record,
	})
	if err != nil && ctx.Err() != nil {
		return result, context.Cause(ctx)
	}
	if err != nil {
		return result, fmt.Errorf("%s: %w", t.Name, err)
	}
	return result, nil
}

// confines reports whether commands in the workspace are confined.
func confines(w *tool.Workspace) bool { return w != nil && w.Confines() }

// openWorkspace opens the workspace of the execution to which the task belongs. It returns nil if the
// configuration has no Workspaces function.
func openWorkspace(ctx agent.TaskContext, c Config) (*tool.Workspace, error) {
	if c.Workspaces == nil {
		return nil, nil
	}
	return c.Workspaces(ctx.Workspace())
}
