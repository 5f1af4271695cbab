package rules

import (
	"encoding/json"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// Edit is a change of a question's details. The voter who makes the change also approves the
// changed details.
type Edit struct {
	Details json.RawMessage
	SHA256  perdure.Hash
	// Refused, if set, is the reason why the changed details cannot be approved, for example
	// because a rule denies them.
	Refused error
}

// checkEdit checks that the voter may change the details of the question. Errors:
// permission_denied, invalid_argument.
func (v NewVote) checkEdit(q *perdure.Question) error {
	switch {
	case v.Verdict != perdure.VerdictApprove:
		return perdure.FieldErrorf("details", "stand only beside the verdict approve")
	case !q.Edit.Permits(v.Role):
		return perdure.Errorf(perdure.PermissionDenied, "%s may not change the details of question %s: %s", v.Name, q.ID, whoEdits(q.Edit))
	}
	return v.Edit.Refused
}

func whoEdits(r perdure.EditRight) string {
	if r == perdure.EditClient {
		return "only admin and client keys may"
	}
	return "nobody may; approve or deny them as they are"
}

// edit replaces the details of a question by those in the vote. It removes earlier votes and ends
// links to the question, because they were about the earlier details.
func (d *draft) edit(q *perdure.Question, v *NewVote) {
	asked, before := q.AskedSHA256(), q.DetailsSHA256
	d.c.DropLinks = &store.LinkDrop{QuestionID: q.ID}
	q.Details, q.DetailsSHA256, q.Votes, v.EditedFrom = v.Edit.Details, v.Edit.SHA256, nil, &asked
	d.question(q)
	members := map[string]any{"by": v.Name, "detailsSha256": q.DetailsSHA256, "before": before}
	if q.Withheld == nil {
		members["details"] = v.Edit.Details
	}
	if v.KeyID != nil {
		members["keyId"] = v.KeyID
	}
	d.questionEvent(perdure.EventQuestionEdited, q, members)
}
