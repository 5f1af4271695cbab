package relational

import "fmt"

// Statements returns the statements of the hot paths that all stores share, by name, so that each
// store can check their query plans.
func Statements(w *Dialect) map[string]*Statement {
	all := map[string]*Statement{
		"execution": executionByID, "whole execution": executionWhole, "task": taskByID, "open tasks": tasksOpen, "held tasks": tasksHeld, "tasks page": tasksAfter,
		"tasks by id": tasksAmong(w), "ended page": endedAfter, "ended before": endedBefore,
		"entry": entryByID, "entry head": entryHeadID, "entry key": entryHeadKey, "entries page": entriesAfter, "path": entriesOfRange, "place of an entry": placeOfEntry, "ranges of a path": pathRanges,
		"last segment": lastSegment, "entry at a place": entryAt,
		"checkpoint": checkpointNewest, "checkpoints page": checkpointsAfter, "signal": signalByID, "response": responseByID, "join": joinResponse, "hide": hideResponse,
		"pending by name": namedPending, "pending": allPending,
		"taken": allTaken, "take": takeSignal, "consume": consumeSignals,
		"log block": blockByKey, "open blocks": blocksOpen, "closed blocks": blocksClosed,
		"entries by id": entriesByID(w), "blobs by id": blobsByID(w), "contents of entries": bodiesOf(w), "an entry's content": entryBody,
		"name blocks": nameBlocks, "note a text": noteText, "entry of a text": entryOf, "a task's result": resultFor, "name a result": setResultOf,
		"hold a result": unnameResult, "name a blob": setContentOf, "what a blob names": namedByBlob, "is of an entry": isOfEntry,
		"empty a block": emptyBlock, "grow": growBlock, "chunks": chunksOf, "drop chunks": dropChunks,
		"events": logEvents, "open chunks": logOpen, "blocks by seq": blocksBySeq, "block by seq": blockBySeq,
		"first block": firstBlock, "closed content": closedContent, "closed chunks": logClosed, "head": headOf, "due": dueByLease(w), "moved": w.Moved,
		"withhold": withholdBlob, "empty blob": emptyBlob, "drop rows": dropRows, "withheld": withheldBlobs, "stage": stageBlob, "unveil": unveilBlobs,
		"signal blobs": signalBlobs, "signal values": signalValues, "loose blobs of one": dropUploads,
		"blob": blobByID, "blob by hash": blobBySum, "whole": blobIsWhole, "definition by slug": definitionBySlug, "idempotency": idempotencyByKey, "sweep idempotency": sweepIdempotency,
		"key": keyByHash, "keys": keysOfOrg, "session": sessionByCookie, "sessions": sessionsOfOrg, "sessions of a key": sessionsOfKey,
		"expired session": expiredSession, "sweep sessions": sweepSessions, "trim sessions": trimSessions, "drop sessions of a key": dropSessionsOf,
		"responses in order": responsesAfter, "responses from the end": responsesBefore, "conversation": conversationByID, "conversation of a response": conversationByResponse,
		"conversation items": conversationItems, "take items": takeConversationItems, "conversation executions": conversationExecutions,
		"orgs of agents": orgsOfAgents, "orgs of tasks": orgsOfTasks,
		"running of a key": runningOfKey, "waiting of a key": waitingOfKey, "running on a queue": runningOnQueue, "waiting on a queue": waitingOnQueue,
		"block": blockTask, "unblock": unblock, "held by": heldByWorker, "holds": holds, "count held": countHeld,
		"stream": streamByPath, "streams of an org": streamsOfOrg, "stream by id": streamByID, "stream content": streamContent, "producer": producerByID, "move stream": moveStream,
		"census of agents": censusAgents, "census of the alone": censusAlone, "census of tasks": censusTasks, "census of the blocked": censusBlocked,
		"census of the held": censusHeld, "census of the waiting": censusWaiting,
		"dead stream": deadStream, "drop stream content": dropsStream[0].query, "drop producers": dropsStream[1].query,
	}
	if w.RecordsBySeq {
		all["events by seq"], all["closes after"], all["first record"] = recordsBySeq, closesAfter, firstRecord
	} else {
		all["events from"], all["closes from"], all["record at"], all["last record"] = recordsFrom, closesFrom, recordAt, lastRecord
	}
	for _, t := range []table{executions.table, tasks.table} {
		for i := range t.sets {
			all[fmt.Sprintf("change %s %d", t.name, i)] = t.sets[i].update
		}
	}
	return all
}
