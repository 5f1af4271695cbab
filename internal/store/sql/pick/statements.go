package pick

import (
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// Statements returns the statements of this package that run often, by name, so that each
// store can check their query plans.
func Statements() map[string]*statement.Statement {
	return map[string]*statement.Statement{
		"orgs of agents": orgsOfAgents, "orgs of tasks": orgsOfTasks, "block": blockTask,
	}
}
