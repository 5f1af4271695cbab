package relational

// cacheStatements returns the statements of this package that run often, by name, so that each
// store can check their query plans.
func cacheStatements() map[string]*Statement {
	return map[string]*Statement{
		"execution": executionByID, "task": taskByID, "log block": blockByKey, "count held": countHeld,
	}
}
