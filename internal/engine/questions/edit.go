package questions

import (
	"context"
	"encoding/json"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
)

// editOf returns the changed details of an answer; nil if it has none. Changed arguments of a tool
// call must fit the schema of the tool, and the policies of the execution must permit them as if
// the model had written them; Edit.Refused says why the arguments are refused. If the parameter
// `judged` is false, these two checks are left out, because the vote is refused for another reason.
// Errors: those of the store, not_found; unavailable if the policies are on a worker that is not
// connected.
func (s *Questions) editOf(ctx context.Context, org string, q *perdure.Question, r AnswerRequest, judged bool) (*rules.Edit, error) {
	if r.Details == nil {
		return nil, nil
	}
	edit := &rules.Edit{Details: r.Details, SHA256: perdure.DetailsHash(q.Kind, q.Subject, r.Details)}
	if q.Kind != perdure.QuestionApproval || !judged {
		return edit, nil
	}
	x, err := s.store.Execution(ctx, org, q.ExecutionID)
	if err != nil {
		return nil, err
	}
	if edit.Refused, err = s.kinds.MisfitArguments(ctx, org, q.Subject, r.Details); err != nil || edit.Refused != nil {
		return edit, err
	}
	if q.EntryID == nil && !x.Gate.Guards(q.Subject) {
		return edit, nil // no policy of the execution applies to the question
	}
	if x.Input, err = s.storedInput(ctx, x); err != nil {
		return nil, err
	}
	edit.Refused, err = s.editJudged(x, q, r.Details)
	return edit, err
}

// editJudged lets the execution's policies judge changed arguments. The result `refused` says why
// the approval of the question would not permit these arguments; it is nil if the approval would
// permit them.
func (s *Questions) editJudged(x *perdure.Execution, q *perdure.Question, arguments json.RawMessage) (refused, err error) {
	policies, err := x.Approvals()
	if err != nil {
		return nil, err
	}
	judged, err := s.judgeCall(policies, perdure.ApprovalCall{Tool: q.Subject, Arguments: arguments, Workspace: x.Workspace, Turn: q.Place.Turn()})
	if err != nil {
		return nil, err
	}
	switch {
	case judged.Then == perdure.ApprovalDeny && judged.Rule != nil && judged.Rule.Reason != "":
		return perdure.FieldErrorf("details", "are denied by a rule: %s", judged.Rule.Reason), nil
	case judged.Then == perdure.ApprovalDeny:
		return perdure.FieldErrorf("details", "are denied by a rule"), nil
	case judged.Then == perdure.ApprovalAsk && !judged.Rule.Covers(q.QuestionTerms):
		return perdure.FieldErrorf("details", "come under another rule, which asks other people or does not permit edits; deny the call"), nil
	}
	return nil, nil
}

// checkEdited checks the parts of changed details that need no stored state.
func checkEdited(details json.RawMessage) error {
	if details == nil {
		return nil
	}
	if len(details) > perdure.InlineLimit {
		return perdure.FieldErrorf("details", "have %d bytes, and %d are allowed in an edit", len(details), perdure.InlineLimit)
	}
	return perdure.CheckDocumentBytes("details", details, perdure.DocumentRules{Workers: true})
}
