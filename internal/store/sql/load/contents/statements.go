package contents

import "github.com/perdure/perdure/internal/store/sql/statement"

// Statements returns the statements of this package that run often, by name, so that each store can
// check their query plans.
func Statements() map[string]*statement.Statement {
	return map[string]*statement.Statement{
		"an entry's content": entryBody, "what a blob names": namedByBlob, "blob": blobByID, "whole": blobIsWhole,
	}
}
