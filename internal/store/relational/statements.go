package relational

import "maps"

// Statements returns the statements that run often on large tables, by name, so that each store can
// check their query plans.
func Statements(w *Dialect) map[string]*Statement {
	all := map[string]*Statement{}
	for _, some := range []map[string]*Statement{cacheStatements(), readStatements(w), applyStatements(), loadStatements(), pickStatements()} {
		maps.Copy(all, some)
	}
	return all
}

// ListStatements returns all statements of execution lists and of the text index.
func ListStatements(w *Dialect) map[string]*Statement {
	all := listingStatements(w)
	maps.Copy(all, applyTextStatements())
	return all
}
