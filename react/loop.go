package react

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/tool"
)

// defaultMaxTurns is the maximum number of model calls in a response whose settings contain no
// maximum.
const defaultMaxTurns = 50

// loop is the state of the react agent while its function runs for an execution.
type loop struct {
	ctx agent.Context
	c   Config
	in  perdure.ReactInput
	st  state
}

// resume creates the loop from the newest checkpoint. Without a checkpoint, it begins the
// conversation.
func resume(ctx agent.Context, c Config, in perdure.ReactInput) (*loop, error) {
	l := &loop{ctx: ctx, c: c, in: in}
	st, known, err := states.Load(ctx)
	if err != nil {
		return nil, err
	}
	if known {
		l.st = st
		l.st.Settings = usable(st.Settings) // workers of older versions accepted settings without a model
		l.place()
		return l, nil
	}
	l.st.ResponseID = ctx.Execution().ResponseID
	l.place()
	return l, l.begin()
}

// begin starts the conversation: it copies the path of an earlier execution if the input names one
// to continue, and appends the messages of the input. The entries have keys, so they are not
// appended twice if the function is entered again before the first checkpoint. If the input has no
// messages, the execution waits for a message.
func (l *loop) begin() error {
	open, err := l.copyFrom()
	if err != nil {
		return err
	}
	messages := l.in.Messages
	if parts := l.in.Parts; len(messages) == 0 && len(parts) > 0 {
		messages = []perdure.InputMessage{{Role: perdure.RoleUser, Parts: parts}}
	} else if len(messages) == 0 && l.in.UserPrompt != "" {
		messages = []perdure.InputMessage{{Role: perdure.RoleUser, Parts: []perdure.Part{perdure.Text(l.in.UserPrompt)}}}
	}
	if len(messages) == 0 && !l.onlyCompacts() {
		l.st.Idle, l.st.StopReason = true, perdure.StopEndTurn
		return nil
	}
	return l.appendInput("input", open, messages)
}

// between returns the place of entries and events that are written between two turns: the current response
// and the next turn.
func (l *loop) between() perdure.Place {
	return perdure.Place{ResponseID: l.st.ResponseID, TurnID: fmt.Sprintf("turn_%d", l.st.TurnIndex)}
}

// place tells the agent's context the current turn and response, to which later entries and events belong.
func (l *loop) place() {
	p := l.between()
	if l.st.Pending != nil {
		p.TurnID = fmt.Sprintf("turn_%d", l.st.Pending.Turn)
		p.MessageID = l.st.Pending.EntryID.String()
	}
	l.ctx.SetPlace(p)
}

// run runs the loop from its current state to the end of the execution.
func (l *loop) run() (perdure.ReactOutput, error) {
	for {
		var err error
		switch {
		case l.st.Stopping != nil:
			err = l.finishStop()
		case l.st.Pending == nil && l.st.Compaction != nil && !l.st.Compaction.Background:
			err = l.finishCompaction()
		case l.st.Pending == nil && l.st.Rest != nil:
			err = l.compactRest()
		case l.st.Pending == nil && l.st.Idle:
			done, err := l.idle()
			if done || err != nil {
				return l.output(), err
			}
		case l.st.Pending == nil:
			err = l.ask()
		case l.st.Pending.ModelTask != nil:
			err = l.answer()
		default:
			err = l.tools()
		}
		if err != nil {
			return perdure.ReactOutput{}, err
		}
	}
}

func (l *loop) output() perdure.ReactOutput {
	usage := l.st.UsageByModel
	if usage == nil {
		usage = map[string]perdure.Usage{}
	}
	return perdure.ReactOutput{Text: l.st.Text, StopReason: l.st.StopReason, UsageByModel: usage}
}

// save adds a checkpoint of the loop's state to the next commit. The parameter `why` is stored as
// the reason of the checkpoint.
func (l *loop) save(why string) error {
	return states.Save(l.ctx, l.st, agent.WithNext(), agent.Reason(why))
}

// idle runs between two responses. For a one-shot run, idle returns true, or the error if the model
// failed, so that the run ends. Otherwise idle takes or awaits one signal. It also does this in a
// one-shot run if a message has already arrived or a person stopped the response. A user message
// begins the next response.
func (l *loop) idle() (done bool, err error) {
	failed := l.st.StopReason == perdure.StopError
	if err := l.save("idle"); err != nil {
		return false, err
	}
	there, err := l.ctx.HasSignal(perdure.UserMessage)
	if err != nil {
		return false, err
	}
	ends := l.in.OneShot && !there && l.st.StopReason != perdure.StopInterrupted
	if err := l.settleCompaction(ends); err != nil {
		return false, err
	}
	if ends {
		return !failed, l.failure()
	}
	patterns := []string{perdure.UserMessage, perdure.CompactSignal, perdure.InterruptSignal, perdure.ModelSignal}
	if failed {
		patterns = append(patterns, perdure.RetrySignal)
	}
	signal, err := l.ctx.WaitAnySignal(0, patterns...)
	if err != nil {
		return false, err
	}
	switch signal.Name {
	case perdure.RetrySignal:
		l.st.Try++
		l.resume()
		return false, nil
	case perdure.InterruptSignal: // a client sent it in the moment in which the response ended
		return false, nil
	case perdure.ModelSignal:
		l.prefer(signal)
		return false, nil
	case perdure.CompactSignal:
		model, err := l.choose()
		if err != nil {
			return false, err
		}
		_, err = l.compactFor(signal, model)
		return false, err
	}
	open := l.st.Open
	said := read(signal, open)
	l.st.ResponseID, l.st.ResponseTurns, l.st.ResponseCalls, l.st.Text, l.st.Try = signal.ResponseID, 0, 0, "", 0
	l.st.Open, l.st.Settings = nil, said.Settings
	l.resume()
	return false, l.appendInput(signal.EntryKey(), open, said.Messages)
}

// failure returns the error with which the response ended, or nil if it ended without an error.
func (l *loop) failure() error {
	if l.st.StopReason != perdure.StopError {
		return nil
	}
	code := l.st.ErrorCode
	if code == "" { // a worker of an older version stored the code only in the text
		code = perdure.Internal
	}
	return &perdure.TaskError{Code: code, Message: strings.TrimPrefix(l.st.Error, string(code)+": "), Permanent: true}
}

func (l *loop) resume() {
	l.st.Idle, l.st.StopReason, l.st.Error, l.st.ErrorCode = false, "", "", ""
	l.st.TooLong = 0
	l.place()
}

// steer appends to the conversation the user messages that arrived during the response.
func (l *loop) steer() error {
	signals, err := l.ctx.DrainSignals(perdure.UserMessage)
	if err != nil {
		return err
	}
	for _, s := range signals {
		if err := l.appendInput(s.EntryKey(), nil, read(s, nil).Messages); err != nil {
			return err
		}
	}
	return nil
}

// ask schedules the next model call. If the response has reached its maximum number of turns, ask
// ends the response.
func (l *loop) ask() error {
	if err := l.steer(); err != nil {
		return err
	}
	if stops, err := l.interrupted(); stops || err != nil {
		return err
	}
	if err := l.takeModel(); err != nil {
		return err
	}
	if l.st.ResponseTurns >= l.maxTurns() {
		return l.endResponse(perdure.StopTurnLimit, "")
	}
	model, err := l.choose()
	if err != nil {
		return err
	}
	if err := l.checkWindow(model); err != nil {
		l.st.ErrorCode = perdure.CodeOf(err)
		return l.endResponse(perdure.StopError, err.Error())
	}
	if l.onlyCompacts() {
		return l.compactOnly(model)
	}
	if waits, err := l.compactFirst(model); waits || err != nil {
		return err
	}
	ahead, err := l.planAhead(model) // planAhead precedes the schedule of the call, because it may commit
	if err != nil {
		return err
	}
	p := &pending{Turn: l.st.TurnIndex, Try: l.st.Try, Model: model, EntryID: uuid.Must(uuid.NewV7())}
	l.st.Pending = p
	l.place()
	future := l.ctx.Schedule(ModelTask, l.request(p), modelOptions(p, l.ctx.Place())...)
	if future.Err() != nil {
		return future.Err()
	}
	p.ModelTask = &future.ID
	if ahead != nil {
		if err := l.schedule(ahead); err != nil {
			return err
		}
	}
	return l.save("model call")
}

func (l *loop) maxTurns() int {
	if n := l.asked().Config.MaxTurns; n != nil {
		return *n
	}
	return defaultMaxTurns
}

// answer waits for the model's answer and stores it, with its tool calls, in the state. If the
// answer has no tool calls, the response ends.
func (l *loop) answer() error {
	p := l.st.Pending
	results, err := l.await(agent.FutureOf(*p.ModelTask, ModelTask))
	if err != nil || results == nil {
		return err
	}
	if failure := results[0].Err(); failure != nil {
		return l.modelFailed(failure)
	}
	reason, err := l.takeAnswer(p, results[0].Task)
	if err != nil {
		return err
	}
	if len(p.Calls) == 0 {
		return l.endResponse(reason, "")
	}
	return nil
}

// takeAnswer stores the answer of a model call in the conversation and its tool calls in the state. It
// returns the stop reason of the answer.
func (l *loop) takeAnswer(p *pending, t *perdure.Task) (perdure.StopReason, error) {
	var a modelAnswer
	if err := json.Unmarshal(t.Result, &a); err != nil {
		return "", perdure.FieldErrorf("result", "of the model call does not decode: %v", err)
	}
	if err := l.store(p, a, t); err != nil {
		return "", err
	}
	p.ModelTask = nil
	l.st.TooLong = 0
	l.st.TurnIndex++
	l.st.ResponseTurns++
	l.st.Try = 0
	if text := a.Content.PlainText(); text != "" {
		l.st.Text = text
	}
	p.Calls = l.callsOf(a.Content)
	return a.Content.StopReason, nil
}

// store appends two entries: the model's message, and an llm_call entry that records the model call.
func (l *loop) store(p *pending, a modelAnswer, t *perdure.Task) error {
	m := perdure.Message{Role: perdure.RoleAssistant, Content: a.Content}
	_, err := l.ctx.Append(m, agent.WithEntryID(p.EntryID), agent.WithKey(perdure.TaskEntryKey(t.ID)))
	if err != nil {
		return err
	}
	record, err := json.Marshal(llmCall(p.Model, a, l.recordPrompt(a.Prompt, p.Model)))
	if err != nil {
		return err
	}
	_, err = l.ctx.Append(perdure.Message{Content: perdure.Content{Parts: []perdure.Part{}}},
		agent.AsRecord(record), agent.WithKey("llm_call:"+t.ID.String()))
	if a.Content.Usage != nil {
		l.st.count(p.Model, *a.Content.Usage)
	}
	l.st.Size.answered(p.Model, m, l.limits(p.Model))
	return err
}

// modelFailed ends the response with an error that clients see. A one-shot run then fails; any
// other run calls the model again after a user message or a retry signal. If the context was too
// long, modelFailed calls tooLong instead.
func (l *loop) modelFailed(failure error) error {
	if perdure.CodeOf(failure) == tooLongCode {
		return l.tooLong(failure)
	}
	l.ctx.Stream().Error(failure.Error(), perdure.CodeOf(failure))
	l.st.ErrorCode = perdure.CodeOf(failure)
	return l.endResponse(perdure.StopError, failure.Error())
}

func (l *loop) endResponse(reason perdure.StopReason, failure string) error {
	if reason == "" || reason == perdure.StopToolUse {
		reason = perdure.StopEndTurn
	}
	l.st.Pending, l.st.Idle, l.st.StopReason, l.st.Error = nil, true, reason, failure
	end := map[string]any{"type": "response_end", "stopReason": reason}
	if failure != "" {
		end["error"] = failure
	}
	return l.ctx.Emit(end) // the event is part of the commit that stores the idle state
}

// callsOf returns the tool calls in an answer. If a call cannot be run, its field Refused contains
// the reason.
func (l *loop) callsOf(c perdure.Content) []call {
	var calls []call
	for _, part := range c.ToolCalls() {
		one := callOf(part)
		t, ok := l.tool(part.Name)
		one.Refused = refusal(one, ok, l.asked().Tools)
		switch {
		case l.isClients(part.Name):
			one.Client, one.Arguments, one.Refused = true, "", ""
		case one.Refused != "":
		case l.spent():
			one.Refused = fmt.Sprintf("not run: the response may call %d tools, and has called them; answer without", *l.asked().MaxToolCalls)
		default:
			l.st.ResponseCalls++
		}
		one.Barrier = ok && t.Barrier && !one.Client
		calls = append(calls, one)
	}
	// Client tools run at the client. Their calls come last, because the response ends with them.
	slices.SortStableFunc(calls, func(a, b call) int {
		switch {
		case a.Client == b.Client:
			return 0
		case b.Client:
			return -1
		}
		return 1
	})
	return calls
}

// callOf converts a part of an answer to a tool call.
func callOf(part perdure.Part) call {
	c := call{ID: part.ID, Name: part.Name, Arguments: part.RawArguments}
	if c.Arguments == "" {
		c.Arguments = "{}"
	}
	return c
}

// refusal returns the result that the model reads if a call cannot be run, or "" if it can. The
// parameter `known` says whether the execution has the called tool. The parameter `tools` contains
// the names of the execution's tools.
func refusal(c call, known bool, tools []string) string {
	switch {
	case c.Name == perdure.UnnamedTool:
		return fmt.Sprintf("the call names no tool; the tools are: %v", tools)
	case !known:
		return fmt.Sprintf("there is no tool %q; the tools are: %v", c.Name, tools)
	case !json.Valid([]byte(c.Arguments)):
		return "the arguments are not valid JSON; nothing was run"
	}
	return ""
}

// tool returns the tool with this name. The bool is false if the worker does not have the tool or
// the execution may not use it.
func (l *loop) tool(name string) (tool.Tool, bool) {
	i := slices.IndexFunc(l.c.Tools, func(t tool.Tool) bool { return t.Name == name })
	if i < 0 || !slices.Contains(l.asked().Tools, name) {
		return tool.Tool{}, false
	}
	return l.c.Tools[i], true
}
