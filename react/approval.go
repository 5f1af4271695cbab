package react

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/schema"
)

// gated reports whether an approval policy applies to calls of the tool. The policies with which
// the execution was started apply; settings in a later message do not change them.
func (l *loop) gated(tool string) bool {
	return l.in.Approvals != nil && l.in.Approvals.Gate().Guards(tool)
}

// Texts that the model reads as the result of a tool call that an approval policy has prevented.
const (
	notOneDocument = "the arguments are not one JSON document, for example because a member occurs twice; nothing was run"
	notApplicable  = "not run: the policies of this run cannot be applied: "
	deniedByRule   = "not run: a rule denies this call"
)

// ruleSchemas caches the compiled schemas of approval rules.
var ruleSchemas schema.Cache

// beginCall applies the approval policies to a tool call: it schedules the call, asks people to approve it,
// or refuses it.
func (l *loop) beginCall(c *call) {
	if !l.gated(c.Name) {
		l.scheduleCall(l.ungated(c))
		return
	}
	if err := perdure.CheckArguments("arguments", []byte(c.Arguments)); err != nil {
		c.Refused = notOneDocument
		return
	}
	judged, err := l.judge(c)
	switch {
	case err != nil:
		c.Refused = notApplicable + reason(err)
	case judged.Then == perdure.ApprovalDeny:
		c.Refused = deniedByRule + because(judged.Rule)
	case judged.Then == perdure.ApprovalAsk:
		c.Question, c.Refused = askCall(l.ctx, judged, c, agent.QuestionCall{EntryID: l.st.Pending.EntryID, CallID: c.ID, Arguments: c.Arguments})
	default:
		number := judged.Number
		l.scheduleCall(l.cleared(c, judged, perdure.Clearance{Rule: &number}))
	}
}

func because(r *perdure.ApprovalRule) string {
	if r == nil || r.Reason == "" {
		return ""
	}
	return ": " + r.Reason
}

func (l *loop) judge(c *call) (perdure.Judgement, error) {
	return l.in.Approvals.Judge(perdure.ApprovalCall{
		Tool: c.Name, Arguments: json.RawMessage(c.Arguments), Workspace: l.ctx.Execution().Workspace, Turn: l.st.Pending.Turn,
	}, ruleSchemas.Fits)
}

// maxAskedTogether is the maximum number of calls in a group (see pending.next) that wait for an
// approval at the same time. It is half of an execution's limit of open questions. The other half is
// for questions that the agent's function asks.
const maxAskedTogether = perdure.MaxOpenQuestions / 2

// begun calls the function `begin` for each call of the group (see pending.next) that has no result
// yet, until maxAskedTogether calls wait for an approval. It returns the calls of the group up to
// that point. The rest becomes part of the next group.
func begun(group []call, begin func(*call)) []call {
	asked := 0
	for i := range group {
		if group[i].Refused == "" {
			begin(&group[i])
		}
		if group[i].Question != nil {
			asked++
		}
		if asked == maxAskedTogether {
			return group[:i+1]
		}
	}
	return group
}

// askCall asks people whether a call may run, and returns the id of the question. If the question
// cannot be asked, `refused` is the result of the call. The key of the question is the id of the
// call, so people are asked once about each call.
func askCall(ctx agent.Context, j perdure.Judgement, c *call, details agent.QuestionCall) (question *uuid.UUID, refused string) {
	q, err := agent.RuleQuestion(*j.Rule, c.Name, details)
	if err != nil {
		return nil, "not run: " + reason(err)
	}
	asked := ctx.OpenQuestion(q)
	if asked.Err() != nil {
		return nil, "not run: its approval could not be asked for: " + reason(asked.Err())
	}
	return &asked.ID, ""
}

// ungated returns the arguments of scheduleCall for a call that no policy guards: the call, its
// input and its options.
func (l *loop) ungated(c *call) (*call, json.RawMessage, []agent.TaskOption) {
	return c, limited(c.Name, json.RawMessage(c.Arguments), l.in.Config.Net), nil
}

// cleared returns the arguments of scheduleCall for a call that a policy guards: the call, its
// input and its options. The input has the same bytes as the call's arguments, because the server
// compares them with the approved bytes.
func (l *loop) cleared(c *call, j perdure.Judgement, why perdure.Clearance) (*call, json.RawMessage, []agent.TaskOption) {
	options := []agent.TaskOption{agent.WithClearance(why), agent.Confined("", j.Requires)}
	if c.Name == commandTool {
		options[1] = agent.Confined(l.in.Config.Net, j.Requires)
	}
	return c, json.RawMessage(c.Arguments), options
}

// decided schedules or refuses a call whose approval question has its final answer.
func (l *loop) decided(c *call, q perdure.Question) {
	question := c.Question
	c.Question = nil
	if c.Refused = notApproved(q); c.Refused != "" {
		return
	}
	l.takeEdit(c, q)
	judged, err := l.judge(c)
	if err != nil {
		c.Refused = notApplicable + reason(err)
		return
	}
	l.scheduleCall(l.cleared(c, judged, perdure.Clearance{Question: question}))
}

// notApproved returns the result of a call that people did not approve, or "" if they approved it.
// The parameter q is the final state of the approval question.
func notApproved(q perdure.Question) string {
	answer, err := agent.Decision(q)
	switch {
	case err != nil:
		return "not run: nobody has approved it"
	case answer.Verdict == perdure.VerdictApprove:
		return ""
	case answer.Reason != "":
		return "not run: it was denied: " + answer.Reason
	}
	return "not run: it was denied"
}

// takeEdit replaces the arguments of a call if a voter has changed them in the approval. The stored
// message keeps the model's arguments, so the result of the call says which arguments were used.
func (l *loop) takeEdit(c *call, q perdure.Question) {
	if q.Details != nil {
		c.Arguments, c.Edited = string(q.Details), string(q.Details)
	}
}

// awaitApprovals waits until the approval question of each call in `group` is decided, and
// schedules a call as soon as it is approved. If a user message arrives first, awaitApprovals
// withdraws the open questions, skips the calls that they are about, and returns the message. If a
// person stops the turn, awaitApprovals records the stop in the state of the loop.
func (l *loop) awaitApprovals(group []call) (*perdure.Signal, error) {
	for {
		var asked []*call
		conditions := []agent.Condition{agent.OnSignal(perdure.InterruptSignal), agent.OnSignal(perdure.UserMessage)}
		for i := range group {
			if c := &group[i]; c.Question != nil {
				asked = append(asked, c)
				conditions = append(conditions, agent.OnQuestion(agent.NewQuestionRef(*c.Question)))
			}
		}
		if len(asked) == 0 {
			return nil, nil
		}
		met, err := l.ctx.WaitAny(0, conditions...)
		if err != nil {
			return nil, err
		}
		switch met.Index {
		case 0:
			return nil, l.stop(met.Signal())
		case 1:
			l.skipAsked(asked)
			s := met.Signal()
			return &s, nil
		}
		l.decided(asked[met.Index-2], met.Questions[0])
		if err := l.save("approval"); err != nil {
			return nil, err
		}
	}
}

// skipAsked withdraws the approval questions about calls and skips these calls, because the user
// has sent a message.
func (l *loop) skipAsked(asked []*call) {
	for _, c := range asked {
		l.ctx.WithdrawQuestion(agent.NewQuestionRef(*c.Question))
		c.Question, c.Refused = nil, "skipped: the user sent a message"
	}
}

// steered ends the turn because a message has arrived while calls waited for approval. It skips the
// calls of the turn that have no result, and appends the message.
func (l *loop) steered(s perdure.Signal) error {
	p := l.st.Pending
	l.st.Pending = nil
	if err := l.skip(p.Calls[p.Done:]); err != nil {
		return err
	}
	return l.appendInput(s.EntryKey(), nil, read(s, nil).Messages)
}
