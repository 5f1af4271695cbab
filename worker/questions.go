package worker

import (
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// OpenQuestion implements agent.Context.
func (r *run) OpenQuestion(q agent.Question) agent.Asked {
	n, err := q.New()
	if err != nil {
		return agent.NotAsked(err)
	}
	if r.questionKeys[n.Key] {
		return agent.NotAsked(perdure.Errorf(perdure.QuestionKeyReused,
			"the question %q was asked twice; give each use an Instance of its own", n.Key))
	}
	r.questionKeys[n.Key] = true
	n.Place = r.place
	r.pending.Questions = append(r.pending.Questions, n)
	return agent.AskedOf(perdure.QuestionID(r.ID(), n.Key))
}

// AwaitQuestion implements agent.Context.
func (r *run) AwaitQuestion(a agent.Asked) (perdure.Question, error) {
	if err := r.blocking("AwaitQuestion"); err != nil {
		return perdure.Question{}, err
	}
	if a.Err() != nil {
		return perdure.Question{}, a.Err()
	}
	for {
		q, err := r.finalQuestion(a.ID)
		if err != nil || q != nil {
			return value(q), err
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
func (r *run) WithdrawQuestion(a agent.Asked) {
	if a.Err() == nil && !slices.Contains(r.pending.Withdraw, a.ID) {
		r.pending.Withdraw = append(r.pending.Withdraw, a.ID)
	}
}

// finalQuestion returns a question that this run knows to be final, or nil. It returns nil for a
// question that is asked with the next commit: only the server can compare it with the stored one.
// It reads an answer that was left out of a reply.
func (r *run) finalQuestion(id uuid.UUID) (*perdure.Question, error) {
	pending := slices.ContainsFunc(r.pending.Questions, func(n perdure.NewQuestion) bool { return perdure.QuestionID(r.ID(), n.Key) == id })
	q := r.questions[id]
	if q == nil || pending {
		return nil, nil
	}
	if q.Status != perdure.QuestionAnswered || q.Answer != nil {
		return q, nil
	}
	found, err := r.w.Dispatch.Questions(r.live, r.ID(), []uuid.UUID{id})
	if err != nil {
		return nil, err
	}
	r.learnQuestions(found)
	return r.questions[id], nil
}

// learnQuestions keeps the questions that are final.
func (r *run) learnQuestions(questions []*perdure.Question) {
	for _, q := range questions {
		if q == nil || !q.Status.Final() {
			continue
		}
		if r.questions == nil {
			r.questions = map[uuid.UUID]*perdure.Question{}
		}
		r.questions[q.ID] = q
	}
}

func value(q *perdure.Question) perdure.Question {
	if q == nil {
		return perdure.Question{}
	}
	return *q
}

// questionMet reports whether a leaf for a question is met. It reads a question that the store has
// marked as final and that this run does not have.
func (r *run) questionMet(leaf perdure.Wait) (bool, error) {
	q, err := r.finalQuestion(*leaf.Question)
	if q != nil || err != nil || !leaf.Met {
		return q != nil, err
	}
	found, err := r.w.Dispatch.Questions(r.live, r.ID(), []uuid.UUID{*leaf.Question})
	r.learnQuestions(found)
	return r.questions[*leaf.Question] != nil, err
}
