package rules

import (
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// ExpiryGrace is the time after a server's start during which questions that were asked before the
// start do not expire. People could not answer these questions while no server ran.
const ExpiryGrace = 15 * time.Minute

// ExpireQuestions ends the expired open questions of an execution. The state contains the execution
// and these questions. Questions that were asked before `since` stay open.
func ExpireQuestions(s *store.State, since perdure.Time) (*store.Changes, error) {
	if s.Execution == nil {
		return nil, nil
	}
	d := begin(s)
	for _, q := range sortedQuestions(s.Questions) {
		if q.Status != perdure.QuestionOpen || q.ExpiresAt == nil || !q.ExpiresAt.Reached(s.Now) || q.CreatedAt.Before(since.Time) {
			continue
		}
		d.expire(q)
	}
	if len(d.c.Questions) == 0 {
		return nil, nil
	}
	return d.done(nil), nil
}

// expire ends a question that nobody has answered in time.
func (d *draft) expire(q *perdure.Question) {
	const by = "expiry" // the worker of a LOCAL execution adds the default answer
	var answer *perdure.Answer
	members := map[string]any{"onExpiry": onExpiry(q)}
	switch onExpiry(q) {
	case perdure.OnExpiryDeny:
		answer = &perdure.Answer{Verdict: perdure.VerdictDeny, Reason: "nobody answered in time", By: by}
	case perdure.OnExpiryDefault:
		answer = &perdure.Answer{Verdict: perdure.VerdictAnswer, Value: q.Default, By: by}
	case perdure.OnExpiryFail:
	}
	if answer != nil {
		members["verdict"] = answer.Verdict
	}
	d.decide(q, perdure.QuestionExpired, answer)
	d.questionEvent(perdure.EventQuestionExpired, q, members)
	d.wakeFor(q)
}

func onExpiry(q *perdure.Question) perdure.OnExpiry {
	switch {
	case q.OnExpiry != "":
		return q.OnExpiry
	case q.Kind == perdure.QuestionApproval:
		return perdure.OnExpiryDeny
	}
	return perdure.OnExpiryFail
}
