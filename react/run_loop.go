package react

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// run is the state of one call of the function Run.
type run struct {
	ctx    agent.Context
	place  perdure.Place // the place in which Run was called
	record runRecord
	step   uuid.UUID         // the id of the step with the runRecord
	frozen perdure.Approvals // the approval policies of the execution
	out    RunResult
	// The field `last` is the id of the model call of the newest turn. The field `calls` contains
	// the tool calls in the answer of that model call, with their outcomes.
	last  *uuid.UUID
	calls []runCall
	entry uuid.UUID // the entry id of the newest answer
}

// loop calls the model and runs the tool calls in its answer, until an answer has no tool calls.
func (r *run) loop() error {
	for r.out.Turns < r.record.MaxTurns {
		content, err := r.ask()
		if err != nil {
			return err
		}
		calls := r.callsOf(content)
		if len(calls) == 0 {
			r.out.Turns++
			r.out.StopReason = content.StopReason
			if r.out.StopReason == "" || r.out.StopReason == perdure.StopToolUse {
				r.out.StopReason = perdure.StopEndTurn
			}
			return nil
		}
		if err := r.runCalls(calls); err != nil {
			return err
		}
	}
	r.out.StopReason = perdure.StopTurnLimit
	return nil
}

// at returns the place of a task of the current turn: the task of the tool call with the given id
// or, for "", the model call.
func (r *run) at(call string) perdure.Place {
	at := r.place
	if at.TurnID == "" {
		at.TurnID = fmt.Sprintf("turn_%d", r.turn())
	}
	at.MessageID, at.ToolCallID = r.entry.String(), call
	return at
}

// turn returns the number of the current turn, from 0.
func (r *run) turn() int { return r.out.Turns }

// ask calls the model once, and adds its answer to the result of the Run.
func (r *run) ask() (perdure.Content, error) {
	turn := r.turn()
	r.entry = uuid.NewSHA1(r.step, fmt.Appendf(nil, "turn %d", turn))
	in := modelRequest{
		Turn: turn, Model: r.record.Model, EntryID: r.entry,
		Run: &runTurn{Record: r.step, Previous: r.last, Calls: r.calls, Silent: r.record.Request.Silent},
	}
	future := r.ctx.Schedule(ModelTask, in, agent.Attempts(modelAttempts), agent.Backoff(modelBackoff, modelBackoffMost),
		agent.OnLost(perdure.OnLostRetry), agent.At(r.at("")))
	results, err := r.ctx.Await(agent.All, future)
	if err != nil {
		return perdure.Content{}, err
	}
	if err := results[0].Err(); err != nil {
		return perdure.Content{}, err
	}
	g, err := generated(r.entry, results[0].Task.Result)
	if err != nil {
		return perdure.Content{}, err
	}
	r.last = &future.ID
	r.out.Message, r.out.EntryID = g.Message, g.EntryID
	r.out.Messages = append(r.out.Messages, g.Message)
	r.out.Usage = r.out.Usage.Add(g.Usage)
	return g.Message.Content, nil
}

// callsOf returns the tool calls in an answer. If a call cannot be run, its field Refused contains
// the reason.
func (r *run) callsOf(c perdure.Content) []call {
	var calls []call
	for _, part := range c.ToolCalls() {
		one := callOf(part)
		t := r.tool(part.Name)
		if one.Refused = refusal(one, t != nil, r.names()); one.Refused == "" {
			one.Barrier = t.Barrier
		}
		calls = append(calls, one)
	}
	return calls
}

// tool returns the rules of the tool with this name, or nil if the Run has no such tool.
func (r *run) tool(name string) *callRules {
	i := slices.IndexFunc(r.record.Tools, func(t callRules) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &r.record.Tools[i]
}

func (r *run) names() []string {
	names := make([]string, len(r.record.Tools))
	for i, t := range r.record.Tools {
		names[i] = t.Name
	}
	return names
}

// runCalls runs the tool calls in an answer, one group (see pending.next) after another. It adds
// their results to the result of the Run in the order of the calls.
func (r *run) runCalls(calls []call) error {
	p := pending{Calls: calls}
	r.calls = nil
	for p.Done < len(p.Calls) {
		group := begun(p.Calls[p.Done:p.Done+p.next()], r.beginCall)
		if err := r.awaitApprovals(group); err != nil {
			return err
		}
		if err := r.finishGroup(group); err != nil {
			return err
		}
		p.Done += len(group)
	}
	r.out.Turns++
	return nil
}

// finishGroup waits for the tasks of a group, and adds their results to the result of the Run.
func (r *run) finishGroup(group []call) error {
	var futures []agent.Future
	for _, c := range group {
		if c.Task != nil {
			futures = append(futures, agent.FutureOf(*c.Task, c.Name))
		}
	}
	var results []agent.Result
	if len(futures) > 0 {
		var err error
		if results, err = r.ctx.Await(agent.All, futures...); err != nil {
			return err
		}
	}
	for _, c := range group {
		one := runCall{Task: c.Task, Refused: c.Refused, Edited: c.Edited != ""}
		var t *perdure.Task
		if c.Task != nil {
			t, results = results[0].Task, results[1:]
		}
		m, err := one.message(c, t)
		if err != nil {
			return err
		}
		r.calls = append(r.calls, one)
		r.out.Messages = append(r.out.Messages, m)
	}
	return nil
}

// schedule schedules the task of a call. The task key is the id of the call, so that two calls with
// equal arguments are two tasks.
func (r *run) schedule(c *call, options ...agent.TaskOption) {
	t := r.tool(c.Name)
	options = append(options, agent.Attempts(1), agent.OnLost(t.OnLost), agent.Timeout(t.Timeout), agent.At(r.at(c.ID)))
	input := json.RawMessage(c.Arguments)
	future := r.ctx.Schedule(c.Name, input, append(options[:len(options):len(options)], agent.Instance(c.ID))...)
	if future.Err() != nil { // a number in the input has no canonical JSON: use a key without the input
		future = r.ctx.Schedule(c.Name, input, append(options, agent.Key(c.ID))...)
	}
	if future.Err() != nil {
		c.Refused = future.Err().Error()
		return
	}
	id := future.ID
	c.Task, c.Refused = &id, ""
}
