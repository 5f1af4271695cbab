package enginetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/questions"
	"github.com/perdure/perdure/internal/store"
)

// question returns a question of kind approval, with one of two keys. Voters may change the details
// of the question.
func (c *crowd) question(r *rand.Rand) perdure.NewQuestion {
	n := perdure.NewQuestion{Key: fmt.Sprint("q", r.IntN(2)), Details: json.RawMessage(`1`)}
	n.Kind, n.Subject, n.Edit = perdure.QuestionApproval, "bash", perdure.EditClient
	n.Needed = 2
	n.DetailsSHA256 = detailsHash(`1`)
	return n
}

func detailsHash(details string) perdure.Hash {
	return perdure.DetailsHash(perdure.QuestionApproval, "bash", []byte(details))
}

// answer sends a vote on one of the questions. The question may not exist, or its details may have
// changed.
func (c *crowd) answer(member int, r *rand.Rand, execution uuid.UUID) {
	seen := detailsHash(fmt.Sprint(1 + r.IntN(2)))
	q := questions.AnswerRequest{
		Question: perdure.QuestionID(execution, fmt.Sprint("q", r.IntN(2))), AnswerID: fmt.Sprint("a", r.IntN(3)), Role: perdure.KeyClient,
		Verdict: perdure.VerdictApprove, DetailsSHA256: &seen,
	}
	switch r.IntN(8) {
	case 0:
		q.Verdict = perdure.VerdictDeny
	case 1, 2:
		q.Details = json.RawMessage(fmt.Sprint(1 + r.IntN(2)))
	}
	voter := voters[r.IntN(len(voters))]
	call := c.now()
	reply, err := c.e.Answer(store.By(c.Context(), perdure.Actor{KeyID: &voter, Name: voter.String()}), org, q)
	c.note(member, call, operation{execution: execution, vote: &q, voter: voter}, told{code: perdure.CodeOf(err), decided: reply.Question.Status})
}

// voteOf converts an answer to the reference model's type for it.
func voteOf(r questions.AnswerRequest) vote {
	v := vote{answer: r.AnswerID, verdict: r.Verdict, hash: r.DetailsSHA256}
	if r.Details != nil {
		changed := detailsHash(string(r.Details))
		v.edited = &changed
	}
	return v
}
