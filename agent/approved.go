package agent

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/schema"
	"github.com/perdure/perdure/internal/scope"
)

// Approved schedules a task as Context.Schedule does, if the approval policies of the execution permit
// it. If the policies ask people, Approved asks a question of kind approval and waits for the answer.
// The subject of the question is the kind of the task, and its details are the input. If a voter has
// changed the input, the task gets the changed input. Without a policy about the kind, Approved does
// the same as Context.Schedule.
//
// Approved blocks. If an agent uses Context.Schedule for a task that a policy guards, the server
// refuses the task, and the execution fails. Errors: ErrDenied, wrapped with the reason, if a rule or
// a person denies; ErrExpired; ErrWithdrawn; invalid_argument.
func Approved(ctx Context, kind string, input any, opts ...TaskOption) (Future, error) {
	policies, err := ctx.Execution().Approvals()
	if err != nil {
		return FailedFuture(kind, err), err
	}
	if !policies.Gate().Guards(kind) {
		f := ctx.Schedule(kind, input, opts...)
		return f, f.Err()
	}
	c, err := newGuardedTask(ctx, policies, kind, input, opts)
	if err == nil {
		err = c.clear()
	}
	if err != nil {
		return FailedFuture(kind, err), err
	}
	f := ctx.Schedule(kind, c.input, append(opts[:len(opts):len(opts)], c.cleared, c.distinct)...)
	return f, f.Err()
}

// guardedTask is a task that Approved has to schedule, with the approval policies that decide about
// it.
type guardedTask struct {
	ctx       Context
	policies  perdure.Approvals
	kind      string
	input     json.RawMessage
	settings  TaskSettings
	judged    perdure.Judgement
	clearance perdure.Clearance
	edited    bool // whether a voter has changed the input
}

func newGuardedTask(ctx Context, policies perdure.Approvals, kind string, input any, opts []TaskOption) (*guardedTask, error) {
	c := &guardedTask{ctx: ctx, policies: policies, kind: kind, settings: TaskSettings{Place: ctx.Place()}}
	for _, opt := range opts {
		opt(&c.settings)
	}
	raw, ok := input.(json.RawMessage)
	if !ok || !json.Valid(raw) {
		var err error
		if raw, err = json.Marshal(input); err != nil {
			return nil, perdure.FieldErrorf("input", "of task %s does not encode: %v", kind, err)
		}
	}
	c.input = raw // people approve exactly these bytes
	if c.settings.KeyTTL > 0 {
		return nil, perdure.FieldErrorf("keyTTL", "is not for the task %s, which policies guard: one approval permits one task", kind)
	}
	return c, perdure.CheckArguments("input", raw)
}

// clear returns nil if the task may run. If a rule says that people decide, clear asks them and
// blocks until they have answered. Errors: those of Approved.
func (c *guardedTask) clear() error {
	if err := c.judge(); err != nil {
		return err
	}
	switch c.judged.Then {
	case perdure.ApprovalDeny:
		return c.denied()
	case perdure.ApprovalAsk:
		return c.ask()
	case perdure.ApprovalAllow:
	}
	number := c.judged.Number
	c.clearance.Rule = &number
	return nil
}

func (c *guardedTask) denied() error {
	if c.judged.Rule == nil || c.judged.Rule.Reason == "" {
		return fmt.Errorf("%w: a rule denies %s", ErrDenied, c.kind)
	}
	return fmt.Errorf("%w: a rule denies %s: %s", ErrDenied, c.kind, c.judged.Rule.Reason)
}

// ruleSchemas caches the compiled schemas of approval rules.
var ruleSchemas schema.Cache

func (c *guardedTask) judge() (err error) {
	call := perdure.ApprovalCall{
		Tool: c.kind, Arguments: c.input, Workspace: c.ctx.Execution().Workspace, Turn: c.settings.Place.Turn(),
	}
	c.judged, err = c.policies.Judge(call, ruleSchemas.Fits)
	return err
}

// ask asks people whether the task may run, and blocks until they have answered. If they approve a
// changed input, the task gets the changed input, and the policies judge it again.
func (c *guardedTask) ask() error {
	name, err := c.question()
	if err != nil {
		return err
	}
	q, err := RuleQuestion(*c.judged.Rule, c.kind, QuestionCall{CallID: name, Arguments: string(c.input)})
	if err != nil {
		return err
	}
	before := c.ctx.Place()
	c.ctx.SetPlace(c.settings.Place) // the server judges an edited input at the turn of this place
	asked := c.ctx.OpenQuestion(q)
	c.ctx.SetPlace(before)
	if perdure.IsCode(asked.Err(), perdure.QuestionKeyReused) {
		asked = AskedOf(perdure.QuestionID(c.ctx.ID(), name)) // an equal task has already asked this question
	}
	final, err := c.ctx.AwaitQuestion(asked)
	if err != nil {
		return err
	}
	answer, err := Decision(final)
	if err != nil {
		return err
	}
	if answer.Verdict != perdure.VerdictApprove {
		return fmt.Errorf("%w: %s", ErrDenied, answer.Reason)
	}
	if final.Details != nil { // a voter may have changed the details
		c.edited = !bytes.Equal(c.input, final.Details)
		c.input = final.Details
	}
	c.clearance.Question = &asked.ID
	return c.judge() // the policies judge the changed input
}

// question returns the name of the question in which people decide whether the task may run. Equal
// tasks have questions of the same name, even in different executions.
func (c *guardedTask) question() (string, error) {
	if c.settings.Key != "" {
		return "approval:" + perdure.CallerTaskKey(uuid.Nil, c.kind, c.settings.Key), nil
	}
	key, err := perdure.DefaultTaskKey(uuid.Nil, c.kind, c.input, scope.Of(c.ctx)+c.settings.TaskOptions.Instance)
	return "approval:" + key, err
}

// cleared is a TaskOption. It adds the clearance to the task: the rule that allows the task, or the
// question in which people approved it. The server refuses a guarded task without a clearance.
func (c *guardedTask) cleared(s *TaskSettings) {
	clearance := c.clearance
	s.Clearance = &clearance
	if c.judged.Requires != "" {
		s.TaskOptions.Requires = c.judged.Requires
	}
}

// distinct is a TaskOption. If a voter has changed the input of the task, distinct adds the
// question's id to the task's instance. So the task differs from one that was scheduled with the
// changed input in the first place. Each of the two needs its own approval.
func (c *guardedTask) distinct(s *TaskSettings) {
	if c.edited && s.Key == "" {
		s.Instance += "edited:" + c.clearance.Question.String()
	}
}

// RuleQuestion returns the question that a rule asks about a call of a tool. The name of the question
// is the id of the call. Errors: the rule's Expires is not a duration.
func RuleQuestion(r perdure.ApprovalRule, tool string, call QuestionCall) (Question, error) {
	life, err := r.Life()
	if err != nil {
		return Question{}, err
	}
	terms := r.Question(tool)
	return Question{
		Name: call.CallID, Kind: terms.Kind, Subject: terms.Subject, Prompt: terms.Prompt, Needed: terms.Needed, NotAsker: terms.NotAsker,
		By: terms.By, Edit: terms.Edit, NoGrants: terms.NoGrants, OnExpiry: terms.OnExpiry, Expires: life, Call: &call,
	}, nil
}
