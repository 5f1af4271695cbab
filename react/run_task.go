package react

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/lru"
	"github.com/perdure/perdure/internal/response"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/tool"
)

// runTurn is the part of a model task's input that says to which turn of a Run the call belongs. It
// contains the ids of the previous turn's tasks instead of the conversation, so its size does not
// depend on the length of the conversation.
type runTurn struct {
	// Record is the id of the step whose result is the runRecord.
	Record uuid.UUID `json:"record"`
	// Previous is the id of the previous turn's model call, and Calls are the tool calls of that
	// turn in order. Both are empty in the first turn.
	Previous *uuid.UUID `json:"previous,omitempty"`
	Calls    []runCall  `json:"calls,omitempty"`
	Silent   bool       `json:"silent,omitempty"`
}

// runCall is the outcome of a tool call.
type runCall struct {
	// Task is the id of the call's task if the call was run. Refused is the result for the model if
	// the call was not run.
	Task    *uuid.UUID `json:"task,omitempty"`
	Refused string     `json:"refused,omitempty"`
	// Edited says that a person has changed the arguments of the call.
	Edited bool `json:"edited,omitempty"`
}

// message returns the message with the result of a tool call. The parameter t is the task of the
// call, or nil if the call was not run.
func (c runCall) message(of call, t *perdure.Task) (perdure.Message, error) {
	result := tool.Errorf("%s", c.Refused)
	if t != nil {
		result = resultOf(agent.Result{Task: t})
	} else {
		of.Edited = "" // the call was not run
	}
	m, _, err := storable(of, result)
	return m, err
}

// taskSource reads tasks of the execution in which the function Run was called.
type taskSource interface {
	Tasks(ids ...uuid.UUID) ([]*perdure.Task, error)
}

// runTurns caches the conversations of recent calls of Run, so that a model call reads only the previous
// turn.
type runTurns struct {
	mu    sync.Mutex                       // guards the fields below
	kept  lru.Map[uuid.UUID, *runMessages] // the keys are the values of runTurn.Record
	bytes int
}

// runMessages is the conversation of a call of Run before one of its model calls.
type runMessages struct {
	task     uuid.UUID // the model call that was asked with the messages
	record   runRecord
	messages []perdure.Message
	bytes    int
}

// ask returns the request of a model call that Run makes. The parameter `task` is the id of the task that
// makes the call, and `in` is the input of the task.
func (c *runTurns) ask(from taskSource, task uuid.UUID, in modelRequest) (llm.Request, error) {
	known, err := c.rebuild(from, task, in)
	if err != nil {
		return llm.Request{}, err
	}
	c.put(in.Run.Record, known)
	r := known.record.Request.ask(in.Model)
	r.Messages = slices.Clip(known.messages)
	if in.Run.Previous != nil && r.ToolChoice != perdure.ToolChoiceNone {
		r.ToolChoice, r.ToolName = "", ""
	}
	return r, nil
}

// rebuild returns the conversation before the model call with this id and input. It reads the turns
// backwards from the newest, until it reaches a turn whose conversation is cached, or the first
// turn. Errors: not_found; invalid_argument if an input names a model call that does not belong to
// the previous turn; the errors of the task source.
func (c *runTurns) rebuild(from taskSource, id uuid.UUID, in modelRequest) (*runMessages, error) {
	var turns []endedTurn // the newest turn is the first element
	cached := c.get(in.Run.Record)
	for at, turn, task := *in.Run, in.Turn, id; ; turn-- {
		if cached != nil && cached.task == task {
			return cached.with(id, turns)
		}
		if at.Previous == nil {
			first, err := readRecord(from, at.Record)
			if err != nil {
				return nil, err
			}
			return first.with(id, turns)
		}
		t, err := readTurnOf(from, at, turn)
		if err != nil {
			return nil, err
		}
		turns = append(turns, t)
		task = *at.Previous
		at = *t.in.Run
	}
}

// endedTurn is a turn of a Run that has ended.
type endedTurn struct {
	in       modelRequest
	messages []perdure.Message // the answer and the results of its calls
	bytes    int
}

// readRecord returns the conversation with which a Run begins, from the step with the given id.
func readRecord(from taskSource, id uuid.UUID) (*runMessages, error) {
	found, err := from.Tasks(id)
	if err != nil {
		return nil, err
	}
	m := &runMessages{}
	if len(found) == 0 || found[0] == nil {
		return nil, lost("record", id)
	}
	if err := json.Unmarshal(found[0].Result, &m.record); err != nil {
		return nil, agent.Permanent(err)
	}
	m.messages, m.bytes = m.record.Request.firstMessages(), 2*len(found[0].Result)
	return m, nil
}

// readTurnOf reads the turn before the turn `next`, whose number is `number`.
func readTurnOf(from taskSource, next runTurn, number int) (endedTurn, error) {
	ids := []uuid.UUID{*next.Previous}
	for _, c := range next.Calls {
		if c.Task != nil {
			ids = append(ids, *c.Task)
		}
	}
	found, err := from.Tasks(ids...)
	if err != nil {
		return endedTurn{}, err
	}
	for i, id := range ids {
		if i >= len(found) || found[i] == nil {
			return endedTurn{}, lost("task", id)
		}
	}
	t, err := decodeTurn(next, found[0], found[1:])
	if err == nil && t.in.Turn != number-1 { // numbers must fall, so that the chain of turns ends
		err = notPrevious()
	}
	return t, err
}

func lost(what string, id uuid.UUID) error {
	return agent.Permanent(perdure.Errorf(perdure.NotFound, "the %s %s of an earlier turn cannot be read", what, id))
}

func notPrevious() error {
	return agent.Permanent(perdure.FieldErrorf("run", "names another model call than the previous one"))
}

// decodeTurn returns the turn before the turn `next`, from the tasks of its model call and its tool
// calls.
func decodeTurn(next runTurn, model *perdure.Task, tools []*perdure.Task) (endedTurn, error) {
	var r endedTurn
	var a modelAnswer
	if err := json.Unmarshal(model.Input, &r.in); err != nil {
		return r, agent.Permanent(err)
	}
	if err := json.Unmarshal(model.Result, &a); err != nil {
		return r, agent.Permanent(err)
	}
	calls := a.Content.ToolCalls()
	if r.in.Run == nil || len(calls) != len(next.Calls) {
		return r, notPrevious()
	}
	r.messages = []perdure.Message{{Role: perdure.RoleAssistant, Content: a.Content}}
	r.bytes = 2 * len(model.Result)
	for i, c := range next.Calls {
		of := call{ID: calls[i].ID, Name: calls[i].Name}
		var t *perdure.Task
		if c.Task != nil {
			t, tools = tools[0], tools[1:]
			r.bytes += 2 * len(t.Result)
			if c.Edited {
				of.Edited = string(t.Input)
			}
		}
		m, err := c.message(of, t)
		if err != nil {
			return r, agent.Permanent(err)
		}
		r.messages = append(r.messages, m)
	}
	return r, nil
}

// with returns the conversation m, followed by the given turns. This is the conversation before the
// model call with the given id. The first element of `turns` is the newest turn.
func (m *runMessages) with(id uuid.UUID, turns []endedTurn) (*runMessages, error) {
	next := &runMessages{task: id, record: m.record, messages: slices.Clip(m.messages), bytes: m.bytes}
	for _, t := range slices.Backward(turns) {
		next.messages, next.bytes = append(next.messages, t.messages...), next.bytes+t.bytes
	}
	return next, nil
}

func (c *runTurns) get(record uuid.UUID) *runMessages {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept.Get(record)
}

// put adds a conversation to the cache, and evicts the least recently used ones if the cache is full.
func (c *runTurns) put(record uuid.UUID, m *runMessages) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if other := c.kept.Peek(record); other != nil {
		c.bytes -= other.bytes
	}
	c.kept.Put(record, m)
	for c.bytes += m.bytes; c.bytes > mostKept; {
		c.bytes -= c.kept.RemoveOldest().bytes
	}
}

// answerTurn calls the model for a turn of a Run.
func (c *runTurns) answerTurn(ctx agent.TaskContext, config Config, provider llm.Provider, in modelRequest) (modelAnswer, error) {
	request, err := c.ask(ctx, ctx.Task().ID, in)
	if err != nil {
		return modelAnswer{}, err
	}
	return answerAlone(ctx, config, provider, in, request, in.Run.Silent)
}

// answerAlone calls the model for Generate or Run, whose messages are not the conversation of the
// execution. If `silent` is true, the answer is not streamed.
func answerAlone(ctx agent.TaskContext, c Config, provider llm.Provider, in modelRequest, request llm.Request, silent bool) (modelAnswer, error) {
	began := time.Now()
	if err := llm.CheckRequest(provider, request); err != nil {
		return modelAnswer{}, modelError(err)
	}
	show := func(llm.Delta) error { return nil }
	if !silent {
		show = newAnswerStream(ctx.Stream(), in.EntryID).delta
	}
	answer, err := callModel(ctx, c, provider, in.Model, request, show)
	if err != nil {
		return modelAnswer{}, modelError(err)
	}
	answer.Parts = perdure.AcceptableParts(perdure.RoleAssistant, answer.Parts)
	nameCalls(answer.Content.Parts, in.EntryID)
	return modelAnswer{
		Content: answer.Content, ProviderResponseID: response.Real(answer.ProviderResponseID),
		LatencyMs: time.Since(began).Milliseconds(), Cost: answer.Cost,
	}, nil
}
