package relational

// pickStatements returns the statements of this package that run often, by name, so that each
// store can check their query plans.
func pickStatements() map[string]*Statement {
	return map[string]*Statement{
		"orgs of agents": orgsOfAgents, "orgs of tasks": orgsOfTasks, "block": blockTask,
	}
}
