package read

import (
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// Statements returns the statements of this package that run often, by name, so that each
// store can check their query plans.
func Statements(w *statement.Dialect) map[string]*statement.Statement {
	return map[string]*statement.Statement{
		"whole execution": executionWhole, "tasks page": tasksAfter, "tasks by id": tasksAmong(w), "ended page": endedAfter, "ended before": endedBefore, "entries page": entriesAfter,
		"path": entriesOfRange, "checkpoint": checkpointNewest, "checkpoints page": checkpointsAfter, "response": responseByID,
		"entries by id": entriesByID(w), "blobs by id": blobsByID(w), "moved": w.Moved, "blob by hash": blobBySum, "expired links": load.ExpiredLinks,
		"responses in order": responsesAfter, "responses from the end": responsesBefore, "conversation of a response": conversationByResponse,
		"conversation items": conversationItems, "conversation executions": conversationExecutions, "held by": heldByWorker, "stream by id": streamByID, "stream content": streamContent,
		"questions": questionsAll, "open questions": questionsOpen, "questions of one": questionsOf, "count of open questions": countOpen, "questions by id": questionsAmong(w),
		"marks of open questions": openMarks, "newest marks": newestMarks, "question in org": load.QuestionInOrg,
	}
}
