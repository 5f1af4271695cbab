package rules

import (
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// Voter identifies who votes on a question: an API key, or the token of the data directory.
type Voter struct {
	Role  perdure.KeyRole
	KeyID *uuid.UUID // nil for the token
	Name  string
	// Since is the time at which the API key was created; nil for the token.
	Since *perdure.Time
}

// Askers returns the key that started the execution, followed by the keys that sent its signals.
// The zero id represents the token of the data directory.
func Askers(x *perdure.Execution, signalKeys []uuid.UUID) []uuid.UUID {
	return append([]uuid.UUID{keyOrToken(x.KeyID)}, signalKeys...)
}

// MayAnswer returns nil if a vote of the voter would count now. A question whose time is over
// accepts votes until the server has ended it, so that people can answer after an outage. `askers`
// is the result of [Askers]; it matters only to a question with NotAsker. Errors: question_decided,
// permission_denied, already_voted.
func (v Voter) MayAnswer(q *perdure.Question, askers []uuid.UUID) error {
	if q.Status.Final() {
		return decided(q)
	}
	if why := v.excluded(q, askers); why != "" {
		return perdure.Errorf(perdure.PermissionDenied, "%s may not answer question %s: %s", v.Name, q.ID, why)
	}
	if slices.ContainsFunc(q.Votes, func(known perdure.Vote) bool { return sameKey(known.KeyID, v.KeyID) }) {
		return perdure.Errorf(perdure.AlreadyVoted, "%s has voted about question %s; another key must decide", v.Name, q.ID)
	}
	return nil
}

// excluded returns the reason why the terms of the question exclude the voter; "" if they do not.
func (v Voter) excluded(q *perdure.Question, askers []uuid.UUID) string {
	switch {
	case v.Role != perdure.KeyAdmin && v.Role != perdure.KeyClient && v.Role != perdure.KeyApprover:
		return "its role is " + string(v.Role)
	case len(q.By) > 0 && !slices.ContainsFunc(q.By, v.is):
		return "it is not among those that the question names"
	case q.NotAsker && slices.Contains(askers, keyOrToken(v.KeyID)):
		return "those who started the run, or sent it the signals of this response, are excluded"
	case q.NotAsker && len(askers) > store.AskerLimit: // there may be more askers than were read
		return "so many keys have sent the run signals in this response that it cannot be told who is excluded; cancel the run"
	case q.QuestionTerms.Votes() > 1 && v.Since != nil && v.Since.After(q.CreatedAt.Time):
		return "its key was created after the question was asked"
	}
	return ""
}

// is reports whether an element of QuestionTerms.By (a role or a key) names the voter.
func (v Voter) is(by string) bool {
	return by == string(v.Role) || v.KeyID != nil && by == "key:"+v.KeyID.String()
}

// keyOrToken returns the id of a key, or the zero id for the token of the data directory.
func keyOrToken(id *uuid.UUID) uuid.UUID {
	if id == nil {
		return uuid.Nil
	}
	return *id
}

func sameKey(a, b *uuid.UUID) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
