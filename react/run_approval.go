package react

import (
	"encoding/json"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// beginCall schedules a tool call, asks people for its approval, or refuses it, as the approval
// policies of the execution and of the Run decide.
func (r *run) beginCall(c *call) {
	if !r.frozen.Gate().Guards(c.Name) && !(perdure.Approvals{Start: r.record.Approvals}).Gate().Guards(c.Name) {
		r.schedule(c, r.limits(c, "")...)
		return
	}
	if err := perdure.CheckArguments("arguments", []byte(c.Arguments)); err != nil {
		c.Refused = notOneDocument
		return
	}
	judged, err := r.judge(c)
	switch {
	case err != nil:
		c.Refused = notApplicable + reason(err)
	case judged.Then == perdure.ApprovalDeny:
		c.Refused = deniedByRule + because(judged.Rule)
	case judged.Then == perdure.ApprovalAsk:
		r.ctx.SetPlace(r.at(c.ID)) // the policies judge an edit by the place of its question
		c.Question, c.Refused = askCall(r.ctx, judged, c, agent.QuestionCall{CallID: c.ID, Arguments: c.Arguments})
		r.ctx.SetPlace(r.place)
	default:
		number := judged.Number
		r.clear(c, judged, perdure.Clearance{Rule: &number})
	}
}

// judge returns what the approval policies decide about a call. The policies of the Run can only be
// stricter than the policies of the execution.
func (r *run) judge(c *call) (perdure.Judgement, error) {
	call := perdure.ApprovalCall{
		Tool: c.Name, Arguments: json.RawMessage(c.Arguments), Workspace: r.ctx.Execution().Workspace, Turn: r.at(c.ID).Turn(),
	}
	judged, err := r.frozen.Judge(call, ruleSchemas.Fits)
	if err != nil {
		return judged, err
	}
	return judged.With(r.record.Approvals, call, ruleSchemas.Fits)
}

// limits returns task options for a call: the network limit of its commands, and the confinement
// that the approval policy requires for them.
func (r *run) limits(c *call, requires string) []agent.TaskOption {
	net := ""
	if c.Name == commandTool {
		net = r.record.Net
	}
	if net == "" && requires == "" {
		return nil
	}
	return []agent.TaskOption{agent.Confined(net, requires)}
}

// clear schedules a call that an approval policy guards and has allowed.
func (r *run) clear(c *call, j perdure.Judgement, why perdure.Clearance) {
	r.schedule(c, append(r.limits(c, j.Requires), agent.WithClearance(why))...)
}

// awaitApprovals waits until no call in `group` waits for an approval. Each call is scheduled as
// soon as it is approved.
func (r *run) awaitApprovals(group []call) error {
	for {
		var asked []*call
		var conditions []agent.Condition
		for i := range group {
			if c := &group[i]; c.Question != nil {
				asked = append(asked, c)
				conditions = append(conditions, agent.OnQuestion(agent.NewQuestionRef(*c.Question)))
			}
		}
		if len(asked) == 0 {
			return nil
		}
		met, err := r.ctx.WaitAny(0, conditions...)
		if err != nil {
			return err
		}
		r.decided(asked[met.Index], met.Questions[0])
	}
}

// decided schedules or refuses a call whose approval question has its final answer.
func (r *run) decided(c *call, q perdure.Question) {
	question := c.Question
	c.Question = nil
	if c.Refused = notApproved(q); c.Refused != "" {
		return
	}
	asked, err := r.judge(c)
	if err == nil && q.Details != nil && string(q.Details) != c.Arguments {
		c.Arguments, c.Edited = string(q.Details), string(q.Details)
	}
	judged := asked
	if err == nil && c.Edited != "" {
		judged, err = r.judge(c)
	}
	switch {
	case err != nil:
		c.Refused = notApplicable + reason(err)
	case judged.Then == perdure.ApprovalAsk && asked.Rule != nil && !judged.Rule.Covers(asked.Rule.Question(c.Name)):
		c.Refused = "not run: the changed arguments come under a rule that asks other people"
	case judged.Then == perdure.ApprovalDeny: // this is a rule of the Run, which the server does not apply
		c.Refused = deniedByRule + because(judged.Rule)
	default:
		r.clear(c, judged, perdure.Clearance{Question: question})
	}
}
