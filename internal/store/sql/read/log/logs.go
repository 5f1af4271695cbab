// Package log reads the logs of executions.
package log

import (
	"github.com/perdure/perdure/internal/store/sql/load/log"
	"github.com/perdure/perdure/internal/store/sql/read/base"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// Logs reads the logs of executions.
type Logs struct{ *base.Source }

// Statements returns the statements of this package that run often, by name, so that each store can
// check their query plans.
func Statements(w *statement.Dialect) map[string]*statement.Statement {
	all := map[string]*statement.Statement{
		"contents of entries": bodiesOf(w), "events": logEvents, "open chunks": logOpen, "blocks by seq": blocksBySeq, "block by seq": blockBySeq,
		"first block": firstBlock, "closed content": closedContent, "closed chunks": logClosed, "head": headOf, "open blocks": log.BlocksOpen, "chunks": log.ChunksOf,
	}
	if w.RecordsBySeq {
		all["events by seq"], all["closes after"], all["first record"] = recordsBySeq, closesAfter, firstRecord
	} else {
		all["events from"], all["closes from"], all["record at"], all["last record"] = recordsFrom, closesFrom, recordAt, lastRecord
	}
	return all
}
