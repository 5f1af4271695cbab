package worker

import (
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/schema"
)

// OpenQuestion implements agent.Context.
func (r *run) OpenQuestion(q agent.Question) agent.QuestionRef {
	n, err := q.New()
	if err != nil {
		return agent.FailedQuestionRef(err)
	}
	if r.questionKeys[n.Key] {
		return agent.FailedQuestionRef(perdure.Errorf(perdure.QuestionKeyReused,
			"the question %q was asked twice; give each use an Instance of its own", n.Key))
	}
	if err := r.checkLocal(n); err != nil {
		return agent.FailedQuestionRef(err)
	}
	r.questionKeys[n.Key] = true
	n.Place = r.place
	r.pending.Questions = append(r.pending.Questions, n)
	return agent.NewQuestionRef(perdure.QuestionID(r.ID(), n.Key))
}

// checkLocal checks the schema of a LOCAL execution's question, and that the default answer fits the
// schema. For REMOTE executions the server does this, but it cannot see the questions of LOCAL ones.
func (r *run) checkLocal(n perdure.NewQuestion) error {
	if n.Schema == nil || r.w.localDispatch == nil || !r.w.localDispatch.Keeps(r.ID()) {
		return nil
	}
	compiled, err := r.w.schemas.Compile(n.Schema)
	if err != nil {
		return perdure.FieldErrorf("question.schema", "is no JSON Schema that is taken here: %s", schema.Brief(err.Error()))
	}
	if n.Default == nil {
		return nil
	}
	return compiled.Check("question.default", n.Default)
}

// AwaitQuestion implements agent.Context.
func (r *run) AwaitQuestion(a agent.QuestionRef) (perdure.Question, error) {
	if err := r.blocking("AwaitQuestion"); err != nil {
		return perdure.Question{}, err
	}
	if a.Err() != nil {
		return perdure.Question{}, a.Err()
	}
	for {
		q, err := r.finalQuestion(a.ID)
		if err != nil {
			return perdure.Question{}, err
		}
		if q != nil {
			return *q, nil
		}
		if _, err := r.suspend(perdure.WaitQuestion(a.ID)); err != nil {
			return perdure.Question{}, err
		}
	}
}

// Ask implements agent.Context.
func (r *run) Ask(q agent.Question) (perdure.Answer, error) {
	if err := r.blocking("Ask"); err != nil {
		return perdure.Answer{}, err
	}
	final, err := r.AwaitQuestion(r.OpenQuestion(q))
	if err != nil {
		return perdure.Answer{}, err
	}
	return agent.Decision(final)
}

// WithdrawQuestion implements agent.Context.
func (r *run) WithdrawQuestion(a agent.QuestionRef) {
	if a.Err() == nil && !slices.Contains(r.pending.Withdraw, a.ID) {
		r.pending.Withdraw = append(r.pending.Withdraw, a.ID)
	}
}

// finalQuestion returns a question if this run knows that it is final, that is, no longer open, and
// nil otherwise. It also returns nil if the next commit asks the question, because the server must
// first compare it with the stored question of that id. If a reply left out the answer to the
// question, finalQuestion reads the question again.
func (r *run) finalQuestion(id uuid.UUID) (*perdure.Question, error) {
	q := r.questions[id]
	if q == nil || r.asksNow(id) {
		return nil, nil
	}
	if !leftOut(q) {
		return q, nil
	}
	found, err := r.w.Dispatch.Questions(r.live, r.ID(), []uuid.UUID{id})
	if err != nil {
		return nil, err
	}
	r.learnQuestions(found)
	return r.questions[id], nil
}

// asksNow reports whether the pending commit asks the question.
func (r *run) asksNow(id uuid.UUID) bool {
	return slices.ContainsFunc(r.pending.Questions, func(n perdure.NewQuestion) bool { return perdure.QuestionID(r.ID(), n.Key) == id })
}

// leftOut reports whether a reply of the server left out the answer to the question, as it does for large
// answers.
func leftOut(q *perdure.Question) bool { return q.Answer != nil && q.Answer.Verdict == "" }

// learnQuestions stores in the run those of the questions that are no longer open.
func (r *run) learnQuestions(questions []*perdure.Question) {
	for _, q := range questions {
		if q == nil || !q.Status.Final() {
			continue
		}
		if r.questions == nil {
			r.questions = map[uuid.UUID]*perdure.Question{}
		}
		r.questionBytes += questionSize(q) - questionSize(r.questions[q.ID])
		r.questions[q.ID] = decided(q)
	}
}

// decided returns the part of a question that no longer changes once the question is not open, and
// that every reply of the server contains. The code of the agent therefore sees the same question
// when the function is entered again.
func decided(q *perdure.Question) *perdure.Question {
	return &perdure.Question{
		ID: q.ID, ExecutionID: q.ExecutionID, Key: q.Key,
		QuestionTerms: perdure.QuestionTerms{Kind: q.Kind, Subject: q.Subject},
		EntryID:       q.EntryID, CallID: q.CallID, DetailsSHA256: q.DetailsSHA256,
		Details: q.Details, Status: q.Status, Answer: q.Answer, CreatedAt: q.CreatedAt, ExpiresAt: q.ExpiresAt, DecidedAt: q.DecidedAt,
	}
}

// questionSize returns the approximate memory that a question occupies in the run.
func questionSize(q *perdure.Question) int {
	switch {
	case q == nil:
		return 0
	case q.Answer == nil:
		return 500
	}
	return 500 + len(q.Answer.Value) + len(q.Answer.Reason) + len(q.Details)
}

// questionState returns a question as this run knows it. As long as the run has not learned that
// the question is no longer open, questionState returns it as open.
func (r *run) questionState(id uuid.UUID) perdure.Question {
	if q := r.questions[id]; q != nil {
		return *q
	}
	return perdure.Question{ID: id, ExecutionID: r.ID(), Status: perdure.QuestionOpen}
}

// questionMet reports whether the question that the condition waits for is no longer open. If the
// server has marked the condition as met, but the run has not received the question yet,
// questionMet reads the question from the server.
func (r *run) questionMet(leaf perdure.Wait) (bool, error) {
	id := *leaf.Question
	if leaf.Met && r.asksNow(id) {
		// As long as the pending commit asks the question, finalQuestion returns nil. If the function was
		// entered again, the server also compares the question in the commit with the stored one.
		if _, err := r.commit(perdure.Outcome{}); err != nil {
			return false, err
		}
	}
	q, err := r.finalQuestion(id)
	if q != nil || err != nil || !leaf.Met {
		return q != nil, err
	}
	found, err := r.w.Dispatch.Questions(r.live, r.ID(), []uuid.UUID{id})
	r.learnQuestions(found)
	return r.questions[id] != nil, err
}
