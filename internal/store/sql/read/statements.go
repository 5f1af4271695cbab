package read

import (
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// Statements returns the statements of this package that run often, by name, so that each
// store can check their query plans.
func Statements(w *statement.Dialect) map[string]*statement.Statement {
	all := map[string]*statement.Statement{
		"whole execution": executionWhole, "tasks page": tasksAfter, "tasks by id": tasksAmong(w), "ended page": endedAfter, "ended before": endedBefore, "entries page": entriesAfter,
		"path": entriesOfRange, "checkpoint": checkpointNewest, "checkpoints page": checkpointsAfter, "response": responseByID,
		"entries by id": entriesByID(w), "blobs by id": blobsByID(w), "contents of entries": bodiesOf(w), "events": logEvents, "open chunks": logOpen, "blocks by seq": blocksBySeq,
		"block by seq": blockBySeq, "first block": firstBlock, "closed content": closedContent, "closed chunks": logClosed, "head": headOf, "due": dueByLease(w), "moved": w.Moved,
		"blob by hash": blobBySum, "key": keyByHash, "keys": keysOfOrg, "session": sessionByCookie, "sessions": sessionsOfOrg, "sessions of a key": sessionsOfKey,
		"expired session": expiredSession, "expired links": load.ExpiredLinks, "responses in order": responsesAfter, "responses from the end": responsesBefore, "conversation of a response": conversationByResponse,
		"conversation items": conversationItems, "conversation executions": conversationExecutions, "held by": heldByWorker, "stream by id": streamByID, "stream content": streamContent,
		"census of agents": censusAgents, "census of the alone": censusAlone, "census of tasks": censusTasks, "census of the blocked": censusBlocked, "census of the held": censusHeld,
		"census of the waiting": censusWaiting, "census of deliveries": censusDeliveries, "due webhooks": dueWebhooks, "overdue webhooks": overdueWebhooks,
		"questions": questionsAll, "open questions": questionsOpen, "questions of one": questionsOf, "count of open questions": countOpen, "questions by id": questionsAmong(w),
		"marks of open questions": openMarks, "newest marks": newestMarks, "question in org": load.QuestionInOrg,
		"grants": grantsOfOrg, "grants of one run": grantsOfRun, "grants of one definition": grantsOfDefinition,
		"delivery": deliveryByKey, "deliveries": deliveriesBefore, "deliveries by status": deliveriesByStatus, "old deliveries": oldDelivery,
		"workers": workersAfter, "workers seen": workersSeen, "held of a worker": heldOfWorker, "held of an org's workers": heldOfWorkers, "held tasks of an org": heldTasks,
		"waiting on a queue by time": waitingAgents, "waiting alone on a queue": waitingAlone, "waiting tasks of a queue": waitingTasks, "running tasks of a queue": runningTasks, "pauses": pausesAll, "pauses in order": pausesAfter,
		"queues of agents": queueNames[0], "queues of the alone": queueNames[1], "queues of tasks": queueNames[2], "queues of held tasks": queueNames[3],
	}
	if w.RecordsBySeq {
		all["events by seq"], all["closes after"], all["first record"] = recordsBySeq, closesAfter, firstRecord
	} else {
		all["events from"], all["closes from"], all["record at"], all["last record"] = recordsFrom, closesFrom, recordAt, lastRecord
	}
	return all
}
