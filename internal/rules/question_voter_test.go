package rules_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// TestTooManyAskersExcludeEveryone checks that a question with NotAsker accepts no vote if it has
// more askers than the server reads.
func TestTooManyAskersExcludeEveryone(t *testing.T) {
	key := uuid.New()
	voter := rules.Voter{Role: perdure.KeyApprover, KeyID: &key, Name: "ann"}
	q := &perdure.Question{Status: perdure.QuestionOpen}
	q.NotAsker = true
	askers := func(n int) []uuid.UUID {
		keys := make([]uuid.UUID, n)
		for i := range keys {
			keys[i] = uuid.New()
		}
		return rules.Askers(&perdure.Execution{}, keys)
	}
	if err := voter.MayAnswer(q, askers(store.AskerLimit-1)); err != nil {
		t.Errorf("below the limit: %v", err)
	}
	if err := voter.MayAnswer(q, askers(store.AskerLimit)); !perdure.IsCode(err, perdure.PermissionDenied) {
		t.Errorf("at the limit: %v", err)
	}
}
