package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// owned lists tables for whose rows the audit checks that the execution exists. These tables have a
// foreign key to executions, but the database did not check the rows that existed when the foreign
// key was added.
var owned = []string{"log_record", "log_chunk", "task_execution"}

// ownersPage is the number of executions that one statement of auditOwners examines.
const ownersPage = 1000

// ownersAfter selects the ids of executions in a table's rows, and whether each execution exists.
// It skips from one id to the next by the primary key.
const ownersAfter = "WITH RECURSIVE o (id) AS ((SELECT agent_execution_id FROM TABLE WHERE agent_execution_id > ?1 ORDER BY agent_execution_id LIMIT 1)" +
	" UNION ALL SELECT (SELECT r.agent_execution_id FROM TABLE r WHERE r.agent_execution_id > o.id ORDER BY r.agent_execution_id LIMIT 1) FROM o WHERE o.id IS NOT NULL)" +
	" SELECT o.id, EXISTS (SELECT 1 FROM agent_execution x WHERE x.id = o.id) FROM o WHERE o.id IS NOT NULL LIMIT ?2"

// auditOwners returns an error if a row of one of the tables in [owned] refers to a missing
// execution.
func auditOwners(ctx context.Context, c statement.Conn) error {
	for _, table := range owned {
		query := strings.ReplaceAll(ownersAfter, "TABLE", table)
		var last uuid.UUID
		for found := ownersPage; found == ownersPage; {
			found = 0
			err := c.Each(ctx, statement.NewAlone(query), []any{last[:], ownersPage}, func(row func(...any) error) error {
				found++
				var there bool
				if err := row(&last, &there); err != nil {
					return err
				}
				if !there {
					return fmt.Errorf("a row of %s belongs to execution %s, which is gone", table, last)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
