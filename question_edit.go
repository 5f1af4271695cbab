package perdure

import "encoding/json"

// EditRight says who may change the details of an approval while approving them.
type EditRight string

const (
	// EditNobody permits nobody to change the details. It is the default.
	EditNobody EditRight = ""
	// EditClient permits admin and client keys, and the token of the data directory, to change the
	// details. In JSON it can also be written as true.
	EditClient EditRight = "client"
	// EditApprover permits approver keys, and those that EditClient permits.
	EditApprover EditRight = "approver"
)

// UnmarshalJSON reads true, false, "client" or "approver".
func (r *EditRight) UnmarshalJSON(raw []byte) error {
	switch string(raw) {
	case "true":
		*r = EditClient
		return nil
	case "false", "null":
		*r = EditNobody
		return nil
	}
	var name string
	if err := json.Unmarshal(raw, &name); err != nil {
		return FieldErrorf("edit", "must be true, false, client or approver")
	}
	*r = EditRight(name)
	return nil
}

// Permits reports whether keys of the given role may change the details.
func (r EditRight) Permits(role KeyRole) bool {
	switch r {
	case EditClient:
		return role == KeyAdmin || role == KeyClient
	case EditApprover:
		return role == KeyAdmin || role == KeyClient || role == KeyApprover
	case EditNobody:
	}
	return false
}

func (r EditRight) check(at string) error {
	if r != EditNobody && r != EditClient && r != EditApprover {
		return FieldErrorf(at+".edit", "%q must be true, false, client or approver", r)
	}
	return nil
}

// AskedSHA256 returns the hash of the details before any voter changed them.
func (q *Question) AskedSHA256() Hash {
	if q.Edited() {
		return *q.Votes[0].EditedFrom
	}
	return q.DetailsSHA256
}

// Edited reports whether a voter has changed the details.
func (q *Question) Edited() bool { return len(q.Votes) > 0 && q.Votes[0].EditedFrom != nil }

// Covers reports whether the terms t are at least as strict as the terms of the questions that are
// asked because of the rule r.
func (r ApprovalRule) Covers(t QuestionTerms) bool {
	return votersWithin(t.By, r.By) && t.Votes() >= r.terms().Votes() && (t.NotAsker || !r.NotAsker) && t.Edit.rank() <= r.Edit.rank()
}

func (r EditRight) rank() int {
	switch r {
	case EditClient:
		return 1
	case EditApprover:
		return 2
	case EditNobody:
	}
	return 0
}
