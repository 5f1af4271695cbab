package kinds

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules/tenant"
	"github.com/perdure/perdure/internal/rules/validate"
	"github.com/perdure/perdure/internal/store"
)

// Register stores the kinds that a worker can run. A stored kind combines the providers and
// endpoints of all its workers.
func (k *Kinds) Register(ctx context.Context, org string, r perdure.Registration) error {
	if err := k.checkRegistration(r); err != nil {
		return err
	}
	_, err := k.one(ctx, store.Command{
		Name: "register", Lane: store.LaneCommits, Frees: true, Org: org, Execution: uuid.Nil,
		Needs:  func(*perdure.Execution) store.Needs { return store.Needs{Kinds: true, Workers: true} },
		Decide: func(s *store.State) (*store.Changes, error) { return tenant.Register(s, org, r) },
	})
	return err
}

func (k *Kinds) checkRegistration(r perdure.Registration) error {
	if err := validate.Texts("", r); err != nil {
		return err
	}
	if len(r.Queues) > perdure.MaxPollQueues {
		return perdure.FieldErrorf("queues", "are %d; a worker takes work from %d at most", len(r.Queues), perdure.MaxPollQueues)
	}
	for at, specs := range map[string][]perdure.KindSpec{"agents": r.Agents, "tasks": r.Tasks} {
		if len(specs) > perdure.MaxPollKinds {
			return perdure.FieldErrorf(at, "are %d kinds; a worker runs %d at most", len(specs), perdure.MaxPollKinds)
		}
		for i, spec := range specs {
			if err := checkAllowed(fmt.Sprintf("%s[%d].endpoints", at, i), spec.Endpoints); err != nil {
				return err
			}
			if err := k.checkSchemaOf(fmt.Sprintf("%s[%d].inputSchema", at, i), spec.Kind, spec.InputSchema); err != nil {
				return err
			}
			if err := k.checkSchemaOf(fmt.Sprintf("%s[%d].outputSchema", at, i), spec.Kind, spec.OutputSchema); err != nil {
				return err
			}
			if err := perdure.CheckTags(fmt.Sprintf("%s[%d].tags", at, i), spec.Tags); err != nil {
				return err
			}
			if err := k.checkSignalSpecs(fmt.Sprintf("%s[%d].signals", at, i), spec); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkSchemaOf checks a schema of a registered kind. Error: invalid_argument.
func (k *Kinds) checkSchemaOf(field, kind string, raw json.RawMessage) error {
	if err := validate.JSON(field, raw); err != nil {
		return err
	}
	if err := perdure.CheckNoDoubledKeys(field, raw); err != nil {
		return err
	}
	return k.Schemas.CheckRegistered(field, kind, raw)
}
