package relational

import "fmt"

// loadStatements returns the statements of this package that run often, by name, so that each
// store can check their query plans.
func loadStatements() map[string]*Statement {
	all := map[string]*Statement{
		"entry": entryByID, "place of an entry": placeOfEntry, "signal": signalByID, "pending by name": namedPending, "pending": allPending, "taken": allTaken, "open blocks": blocksOpen,
		"an entry's content": entryBody, "what a blob names": namedByBlob, "chunks": chunksOf, "blob": blobByID, "whole": blobIsWhole, "definition by slug": definitionBySlug,
		"conversation": conversationByID, "running of a key": runningOfKey, "running on a queue": runningOnQueue, "holds": holds, "stream": streamByPath, "dead stream": deadStream,
	}
	for _, t := range []table{executions.table, tasks.table} {
		for i := range t.sets {
			all[fmt.Sprintf("change %s %d", t.name, i)] = t.sets[i].update
		}
	}
	return all
}
