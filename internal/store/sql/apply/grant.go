package apply

import (
	"errors"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load/tenant"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	insertGrant = statement.Declare(tenant.GrantRows.InsertStatement())
	dropGrant   = statement.Alone("DELETE FROM approval_grant WHERE id = ?1 AND " + column.Unindexed("org_id") + " = ?2")
	// dropOldOfRun and dropOldOfDefinition delete the expired approval grants of a run or of a
	// definition.
	dropOldOfRun        = statement.Alone("DELETE FROM approval_grant WHERE agent_execution_id = ?1 AND expires_at <= ?2")
	dropOldOfDefinition = statement.Alone("DELETE FROM approval_grant WHERE agent_definition_id = ?1 AND expires_at <= ?2")
)

func loadGrants(v statement.View, x *perdure.Execution, n store.Needs, s *store.State, _ *known) (err error) {
	if s.Grants, err = tenant.GrantRows.All(v, tenant.GrantsOfRun, x.ID[:], column.Millis(s.Now)); err != nil || x.DefinitionID == nil {
		return err
	}
	wider, err := tenant.GrantRows.All(v, tenant.GrantsOfDefinition, x.DefinitionID[:], column.Millis(s.Now))
	s.Grants = append(s.Grants, wider...)
	return err
}

func (t *Transaction) applyGrants(org string, execution uuid.UUID, ch *store.Changes) error {
	if ch.DropGrant != nil {
		if err := t.Write(dropGrant, ch.DropGrant[:], org); err != nil {
			return err
		}
	}
	g := ch.Grant
	if g == nil {
		return nil
	}
	drop, of := dropOldOfDefinition, g.DefinitionID
	if g.ExecutionID != nil {
		if *g.ExecutionID != execution {
			return errors.New("a command wrote a grant of another execution")
		}
		drop, of = dropOldOfRun, g.ExecutionID
	}
	if err := t.Write(drop, of[:], column.Millis(t.now)); err != nil {
		return err
	}
	return tenant.GrantRows.Write(t.View, insertGrant, g)
}
