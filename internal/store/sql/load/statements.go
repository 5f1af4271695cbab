package load

import (
	"fmt"

	"github.com/perdure/perdure/internal/store/sql/row"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// Statements returns the statements of this package that run often, by name, so that each
// store can check their query plans.
func Statements() map[string]*statement.Statement {
	all := map[string]*statement.Statement{
		"entry": entryByID, "place of an entry": placeOfEntry, "ranges of a path": pathRanges, "entry at a place": entryAt, "newest compaction": newestCompaction, "barrier": barrierAt, "signal": SignalByID, "pending by name": namedPending, "pending": allPending, "taken": allTaken, "signals page": SignalsAfter,
		"conversation": ConversationByID, "running of a key": RunningOfKey, "running on a queue": RunningOnQueue, "holds": holds, "stream": StreamByPath, "dead stream": DeadStream,
	}
	for _, t := range []row.Table{ExecutionRows.Table, TaskRows.Table, QuestionRows.Table} {
		for i := range t.Sets {
			all[fmt.Sprintf("change %s %d", t.Name, i)] = t.Sets[i].Update
		}
	}
	return all
}
