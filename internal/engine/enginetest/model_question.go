package enginetest

import (
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// question is a question in the reference model.
type question struct {
	status  perdure.QuestionStatus
	kind    perdure.QuestionKind
	hash    perdure.Hash
	asked   perdure.Hash // hash of the details before any edit
	edit    perdure.EditRight
	needed  int
	votes   map[uuid.UUID]string // ids of the answers, by the key of the voter
	created time.Time
	expires time.Time // zero for never
	verdict perdure.Verdict
}

// ask asks and withdraws the questions of a commit.
func (x *execution) ask(c perdure.Commit, now time.Time) perdure.Code {
	for _, n := range c.Questions {
		id := perdure.QuestionID(x.id, n.Key)
		known, asked := x.questions[id]
		if asked {
			if known.kind != n.Kind || known.asked != n.DetailsSHA256 {
				return perdure.IdempotencyKeyReused
			}
			continue
		}
		q := question{
			status: perdure.QuestionOpen, kind: n.Kind, hash: n.DetailsSHA256, asked: n.DetailsSHA256, edit: n.Edit, needed: max(n.Needed, 1),
			votes: map[uuid.UUID]string{}, created: now,
		}
		if n.ExpiresAfter > 0 {
			q.expires = now.Add(n.ExpiresAfter)
		}
		x.questions[id] = q
	}
	for _, id := range c.Withdraw {
		q, known := x.questions[id]
		if !known {
			return perdure.InvalidArgument
		}
		if q.status == perdure.QuestionOpen {
			q.status = perdure.QuestionWithdrawn
			x.questions[id] = q
		}
	}
	return ""
}

// withdrawOpen withdraws the open questions. It must be called when the execution ends or is to be
// cancelled.
func (x *execution) withdrawOpen() {
	for id, q := range x.questions {
		if q.status == perdure.QuestionOpen {
			q.status = perdure.QuestionWithdrawn
			x.questions[id] = q
		}
	}
}

// vote is an answer to a question. The field `edited` is the hash of the changed details, or nil if
// the vote does not change the details.
type vote struct {
	answer       string
	verdict      perdure.Verdict
	hash, edited *perdure.Hash
}

// vote answers the question with the id. The voter is the id of a client's API key.
func (x *execution) vote(id, voter uuid.UUID, v vote, now time.Time) perdure.Code {
	q, known := x.questions[id]
	edits := v.edited != nil && *v.edited != q.hash
	first, voted := q.votes[voter]
	switch {
	case !known:
		return perdure.NotFound
	case voted && first == v.answer:
		return ""
	case q.status != perdure.QuestionOpen:
		return perdure.QuestionDecided
	case voted && !edits:
		return perdure.AlreadyVoted
	case v.hash == nil && v.verdict == perdure.VerdictApprove:
		return perdure.InvalidArgument
	case v.hash != nil && *v.hash != q.hash:
		return perdure.DetailsChanged
	case edits && v.verdict != perdure.VerdictApprove:
		return perdure.InvalidArgument
	case edits && q.edit == perdure.EditNobody:
		return perdure.PermissionDenied
	}
	if edits {
		q.hash, q.votes = *v.edited, nil
	}
	q.votes = withVote(q.votes, voter, v.answer)
	if v.verdict == perdure.VerdictDeny || len(q.votes) >= q.needed {
		q.status, q.verdict = perdure.QuestionAnswered, v.verdict
	}
	x.questions[id] = q
	x.wake(now)
	return ""
}

func withVote(votes map[uuid.UUID]string, voter uuid.UUID, answer string) map[uuid.UUID]string {
	all := map[uuid.UUID]string{voter: answer}
	for k, v := range votes {
		all[k] = v
	}
	return all
}

// expire ends the questions that nobody has answered in time.
func (x *execution) expire(now time.Time) {
	for id, q := range x.questions {
		if q.status == perdure.QuestionOpen && !q.expires.IsZero() && !q.expires.After(now) {
			q.status = perdure.QuestionExpired
			x.questions[id] = q
		}
	}
	x.wake(now)
}

// openQuestions returns the number of open questions.
func (x *execution) openQuestions() int {
	n := 0
	for _, q := range x.questions {
		if q.status == perdure.QuestionOpen {
			n++
		}
	}
	return n
}
