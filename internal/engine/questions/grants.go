package questions

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// RevokeGrant deletes a grant on behalf of the actor in ctx. Once RevokeGrant has returned, the
// grant answers no further question. Errors: not_found, permission_denied.
func (s *Questions) RevokeGrant(ctx context.Context, org string, id uuid.UUID, role perdure.KeyRole) error {
	r := rules.Revocation{Grant: id, Role: role, Actor: store.ActorOf(ctx)}
	_, err := s.one(ctx, store.Command{
		Name: "revoke grant", Lane: store.LaneCommits, Org: org,
		Needs:  func(*perdure.Execution) store.Needs { return store.Needs{Grant: &id} },
		Decide: func(s *store.State) (*store.Changes, error) { return rules.RevokeGrant(s, r) },
	})
	return err
}
