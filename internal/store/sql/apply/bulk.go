package apply

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	upsertBulk     = statement.Declare(load.BulkRows.UpsertStatement())
	insertBulkIDs  = statement.Insert("bulk_action_executions", "org_id, bulk_action_id, ids")
	dropBulkIDs    = statement.Remove("bulk_action_executions", statement.Columns("org_id, bulk_action_id"))
	forgetBulk     = statement.Alone("DELETE FROM bulk_action WHERE org_id = ?1 AND ended_at < ?2")
	bulkByKey      = statement.Read(load.BulkSelect + "b.org_id = ?1 AND b.idempotency_key = ?2 ORDER BY b.created_at DESC LIMIT 1")
	runningBulkOrg = statement.Read("SELECT count(*) FROM bulk_action b INDEXED BY idx_bulk_action_running WHERE b.org_id = ? AND b.status = 'running'")
)

func asksBulk(n store.Needs) bool { return n.BulkAction != nil || n.BulkActions || n.BulkKey != "" }

// heldForBulk returns the names to lock for a command that needs bulk actions.
func heldForBulk(org string, n store.Needs) (names []string) {
	if n.BulkAction != nil {
		names = append(names, "bulk action "+n.BulkAction.String())
	}
	if n.BulkActions || n.BulkKey != "" {
		names = append(names, "bulk actions of "+org)
	}
	return names
}

// loadBulk loads the bulk actions that a command needs.
func loadBulk(v statement.View, org string, n store.Needs, s *store.State) (err error) {
	if n.BulkAction != nil {
		if s.BulkAction, err = load.BulkRows.One(v, load.BulkByID, org, n.BulkAction[:]); err != nil {
			return err
		}
	}
	if n.BulkKey != "" {
		if s.BulkByKey, err = load.BulkRows.One(v, bulkByKey, org, n.BulkKey); err != nil {
			return err
		}
	}
	if n.BulkActions {
		_, err = v.One(runningBulkOrg, []any{org}, &s.BulkRunning)
	}
	return err
}

func (t *Transaction) applyBulk(org string, ch *store.Changes) error {
	if ch.ForgetBulk != nil {
		if err := t.Write(forgetBulk, org, column.Millis(*ch.ForgetBulk)); err != nil {
			return err
		}
	}
	a := ch.BulkAction
	if a == nil {
		return nil
	}
	if err := load.BulkRows.Write(t.View, upsertBulk, a); err != nil {
		return err
	}
	switch {
	case a.Status == perdure.BulkCompleted:
		return t.Write(dropBulkIDs, a.Org, a.ID[:])
	case len(ch.BulkExecutions) > 0:
		return t.Write(insertBulkIDs, a.Org, a.ID[:], joinedIDs(ch.BulkExecutions))
	}
	return nil
}

// joinedIDs returns the bytes of the ids, concatenated.
func joinedIDs(ids []uuid.UUID) []byte {
	all := make([]byte, 0, len(ids)*len(uuid.Nil))
	for _, id := range ids {
		all = append(all, id[:]...)
	}
	return all
}
