package enginetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/questions"
	"github.com/perdure/perdure/internal/store"
	"pgregory.net/rapid"
)

// voters are the ids of the API keys that answer questions.
var voters = []uuid.UUID{{11}, {12}, {13}}

// questions adds random questions and withdrawals to a commit. Some of the questions were asked
// before.
func (m *machine) questions(t *rapid.T, x *execution, c *perdure.Commit) {
	if sometimes(t, "question", 3) {
		c.Questions = append(c.Questions, m.newQuestion(t))
	}
	if id, ok := m.someQuestion(t, x, *c); ok && sometimes(t, "withdraw", 8) {
		c.Withdraw = append(c.Withdraw, id)
	}
	if sometimes(t, "withdraw what is not there", 60) {
		c.Withdraw = append(c.Withdraw, uuid.UUID{5})
	}
}

func (m *machine) newQuestion(t *rapid.T) perdure.NewQuestion {
	n := perdure.NewQuestion{Key: one(t, "question key", []string{"q0", "q1", "q2"}), Details: json.RawMessage(`1`)}
	if sometimes(t, "other details", 10) {
		n.Details = json.RawMessage(`2`)
	}
	n.Kind, n.Subject, n.Prompt = perdure.QuestionApproval, "bash", "May it?"
	n.Needed = one(t, "needed", []int{0, 1, 2})
	n.Edit = one(t, "edit", []perdure.EditRight{perdure.EditNobody, perdure.EditClient})
	n.ExpiresAfter = one(t, "expires", []time.Duration{0, 0, 2 * time.Second, time.Minute})
	n.DetailsSHA256 = perdure.DetailsHash(n.Kind, n.Subject, n.Details)
	return n
}

// someQuestion draws the id of a question that the execution already has or that the commit asks.
func (m *machine) someQuestion(t *rapid.T, x *execution, c perdure.Commit) (uuid.UUID, bool) {
	var all []uuid.UUID
	for _, n := range c.Questions {
		all = append(all, perdure.QuestionID(x.id, n.Key))
	}
	for _, key := range []string{"q0", "q1", "q2"} {
		if id := perdure.QuestionID(x.id, key); x.questions[id].status != "" {
			all = append(all, id)
		}
	}
	if len(all) == 0 {
		return uuid.Nil, false
	}
	return one(t, "which question", all), true
}

// answer sends a random vote.
func (m *machine) answer(t *rapid.T) {
	x := one(t, "execution", m.xs)
	id, ok := m.someQuestion(t, x, perdure.Commit{})
	if !ok {
		return
	}
	voter := one(t, "voter", voters)
	hash := x.questions[id].hash
	r := questions.AnswerRequest{
		Question: id, AnswerID: fmt.Sprint("a", below(t, "answer", 3)), Role: perdure.KeyClient, DetailsSHA256: &hash,
		Verdict: one(t, "verdict", []perdure.Verdict{perdure.VerdictApprove, perdure.VerdictApprove, perdure.VerdictDeny}),
	}
	if sometimes(t, "stale", 10) {
		r.DetailsSHA256 = &perdure.Hash{1}
	} else if sometimes(t, "unseen", 10) {
		r.DetailsSHA256 = nil
	}
	v := vote{answer: r.AnswerID, verdict: r.Verdict, hash: r.DetailsSHA256}
	if sometimes(t, "edit", 3) {
		r.Details = json.RawMessage(one(t, "edited details", []string{`1`, `2`, `3`}))
		changed := perdure.DetailsHash(perdure.QuestionApproval, "bash", r.Details)
		v.edited = &changed
	}
	refused := x.vote(id, voter, v, m.now())
	ctx := store.By(m.ctx, perdure.Actor{KeyID: &voter, Name: voter.String()})
	reply, err := m.e.Answer(ctx, org, r)
	m.code(err, refused)
	if err == nil && reply.Question.Status != x.questions[id].status {
		m.Fatalf("the question is %s, the rules say %s", reply.Question.Status, x.questions[id].status)
	}
}

// compareQuestions compares the stored questions with the reference model.
func (m *machine) compareQuestions(x *execution, got *perdure.Execution) {
	m.Helper()
	if got.OpenQuestions != x.openQuestions() {
		m.Fatalf("%d questions are open, the rules say %d", got.OpenQuestions, x.openQuestions())
	}
	page, err := m.s.Questions(m.ctx, org, store.QuestionFilter{ExecutionID: &x.id, Limit: 100})
	m.must(err)
	if len(page.Items) != len(x.questions) {
		m.Fatalf("there are %d questions, the rules say %d", len(page.Items), len(x.questions))
	}
	for _, q := range page.Items {
		want := x.questions[q.ID]
		if q.Status != want.status || len(q.Votes) != len(want.votes) || q.DetailsSHA256 != want.hash || q.AskedSHA256() != want.asked || q.Status == perdure.QuestionAnswered && q.Answer.Verdict != want.verdict {
			m.Fatalf("the question is %s with %d votes, the rules say %s with %d", q.Status, len(q.Votes), want.status, len(want.votes))
		}
	}
}
