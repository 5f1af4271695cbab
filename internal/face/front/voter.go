package front

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/engine/questions"
)

// Voter returns the caller of a request as a voter, who may answer questions. ctx is the context of
// the request. Errors: those of reading the key.
func (f *Front) Voter(ctx context.Context) (questions.Voter, error) {
	caller := CallerOf(ctx)
	voter := questions.Voter{Role: caller.Role, Name: caller.Name}
	if caller.ID != uuid.Nil {
		key, err := f.Auth.KeyOf(ctx, caller.Key)
		if err != nil {
			return voter, err
		}
		voter.KeyID, voter.Since = &caller.ID, &key.CreatedAt
	}
	return voter, nil
}
