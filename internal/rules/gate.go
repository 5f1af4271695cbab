package rules

import (
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// JudgedTask is what the approval policies say about a new task that needs a clearance. A clearance
// names what permits a tool call: a rule of a policy, or an approved question. The server computes
// both fields from the bytes of the task's input, and from the policies as they were at the start
// of the execution.
type JudgedTask struct {
	// Details is the hash of the tool call, as perdure.DetailsHash returns it.
	Details perdure.Hash
	// Judged says what the policies allow for the call.
	Judged perdure.Judgement
}

// JudgedTasks contains judged tasks by their indexes in the commit. They are not stored by task
// key, because two tasks of a commit may have the same key and different inputs.
type JudgedTasks map[int]JudgedTask

// clearanceNeeds adds to n the questions that the clearances of a commit name.
func clearanceNeeds(n *store.Needs, c perdure.Commit) {
	for _, t := range c.Tasks {
		if t.Clearance != nil && t.Clearance.Question != nil {
			n.Questions = append(n.Questions, *t.Clearance.Question)
		}
	}
}

// pass checks that the clearance of a new task permits the task. `at` is the index of the task in
// its commit. If the clearance names a question, pass records the task in that question. Error:
// permission_denied.
func (d *draft) pass(at int, n perdure.NewTask) error {
	if !d.x.Gate.Guards(n.Kind) {
		return nil
	}
	refuse := func(why string) error {
		err := perdure.Errorf(perdure.PermissionDenied, "a call of %s is not cleared by the policies of execution %s: %s", n.Kind, d.x.ID, why)
		err.Fields = []perdure.FieldError{{Location: "tasks.clearance", Message: why}}
		return err
	}
	judged, known := d.judged[at]
	switch {
	case n.Clearance == nil || (n.Clearance.Rule == nil) == (n.Clearance.Question == nil):
		return refuse("the task needs a clearance: the number of the rule that allows it, or an approved question")
	case d.local():
		return d.passLocal(n, refuse)
	case !known:
		return refuse("its input could not be compared with them")
	case judged.Judged.Then == perdure.ApprovalDeny:
		return refuse("a rule denies it")
	case judged.Judged.Requires != "" && judged.Judged.Requires != n.Options.Requires:
		return refuse("it must require " + judged.Judged.Requires)
	case n.Clearance.Rule != nil:
		if judged.Judged.Then != perdure.ApprovalAllow || judged.Judged.Number != *n.Clearance.Rule {
			return refuse("the rule that it names does not allow it")
		}
		return nil
	}
	return d.passBy(*n.Clearance.Question, n, judged, refuse)
}

// passLocal does the work of pass for a LOCAL execution. The tool calls and the policies of such an
// execution are on the worker, so the worker decides whether a rule allows a call. An approved
// question permits exactly the input whose hash was approved.
func (d *draft) passLocal(n perdure.NewTask, refuse func(string) error) error {
	if n.Clearance.Rule != nil {
		return nil
	}
	q, err := d.approval(n, refuse)
	if err != nil {
		return err
	}
	approved := q.Answer.BareSHA256
	if n.Input.Blob == nil || approved == nil || *approved != n.Input.Blob.SHA256 {
		return refuse("question " + q.ID.String() + " approved other arguments")
	}
	return d.permit(q, n, refuse)
}

// approval returns the approved question that a clearance names.
func (d *draft) approval(n perdure.NewTask, refuse func(string) error) (*perdure.Question, error) {
	q := d.s.Questions[*n.Clearance.Question]
	switch {
	case q == nil || q.Kind != perdure.QuestionApproval || q.Subject != n.Kind:
		return nil, refuse("it names no question about this tool")
	case q.Status != perdure.QuestionAnswered || q.Answer == nil || q.Answer.Verdict != perdure.VerdictApprove:
		return nil, refuse("question " + q.ID.String() + " is not approved")
	}
	return q, nil
}

// passBy checks that the approved question with the id permits the task, and records the task in
// the question.
func (d *draft) passBy(id uuid.UUID, n perdure.NewTask, known JudgedTask, refuse func(string) error) error {
	q, err := d.approval(n, refuse)
	if err != nil {
		return err
	}
	judged := known.Judged
	switch {
	case q.DetailsSHA256 != known.Details:
		return refuse("question " + id.String() + " approved other arguments")
	case judged.Rule != nil && judged.Then == perdure.ApprovalAsk && !judged.Rule.Covers(q.QuestionTerms):
		return refuse("question " + id.String() + " was asked in other terms than the rule has")
	case q.Answer.GrantID != nil && judged.Rule != nil && judged.Rule.Question(n.Kind).NoGrants:
		return refuse("question " + id.String() + " was answered by a grant, and the rule takes none")
	}
	return d.permit(q, n, refuse)
}

// permit records the task in the question that permits it. One approval permits one task.
func (d *draft) permit(q *perdure.Question, n perdure.NewTask, refuse func(string) error) error {
	task := perdure.TaskID(n.Key)
	if q.TaskID != nil { // also if that was the task with the same key that n replaces
		return refuse("question " + q.ID.String() + " permitted a task already")
	}
	q.TaskID = &task
	d.question(q)
	d.questionEvent(perdure.EventQuestionClosed, q, map[string]any{"taskId": task})
	return nil
}

// closeUnused appends an event question.closed for each approved question that the commit withdraws
// although the approved call has not run.
func (d *draft) closeUnused(c perdure.Commit) {
	for _, q := range sortedQuestions(d.s.Questions) {
		approved := q.Kind == perdure.QuestionApproval && q.Answer != nil && q.Answer.Verdict == perdure.VerdictApprove
		if approved && q.TaskID == nil && slices.Contains(c.Withdraw, q.ID) {
			d.question(q)
			d.questionEvent(perdure.EventQuestionClosed, q, map[string]any{"taskId": nil, "reason": "approved, not run: the agent no longer needs it"})
		}
	}
}
