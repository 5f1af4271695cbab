// Package catalog lists the statements of the stores, for the tests of their query plans.
package catalog

import (
	"maps"

	"github.com/perdure/perdure/internal/store/sql/apply"
	"github.com/perdure/perdure/internal/store/sql/cache"
	"github.com/perdure/perdure/internal/store/sql/listing"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/load/contents"
	"github.com/perdure/perdure/internal/store/sql/pick"
	"github.com/perdure/perdure/internal/store/sql/read"
	"github.com/perdure/perdure/internal/store/sql/read/log"
	"github.com/perdure/perdure/internal/store/sql/read/tenant"
	"github.com/perdure/perdure/internal/store/sql/read/work"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// Statements returns the statements that run often on large tables, by name, so that each store can
// check their query plans.
func Statements(w *statement.Dialect) map[string]*statement.Statement {
	all := map[string]*statement.Statement{}
	for _, some := range []map[string]*statement.Statement{cache.Statements(), read.Statements(w), tenant.Statements(), log.Statements(w), work.Statements(w), apply.Statements(), load.Statements(), contents.Statements(), pick.Statements()} {
		maps.Copy(all, some)
	}
	return all
}

// ListStatements returns all statements of execution lists and of the text index.
func ListStatements(w *statement.Dialect) map[string]*statement.Statement {
	all := listing.Statements(w)
	maps.Copy(all, apply.TextStatements())
	return all
}
