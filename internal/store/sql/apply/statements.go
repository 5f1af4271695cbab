package apply

import (
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/load/tenant"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// Statements returns the statements of this package that run often, by name, so that each
// store can check their query plans.
func Statements() map[string]*statement.Statement {
	return map[string]*statement.Statement{
		"open tasks": tasksOpen, "held tasks": tasksHeld, "entry head": entryHeadID, "set barrier": setBarrier, "entry key": entryHeadKey, "last segment": lastSegment, "join": joinResponse, "hide": hideResponse,
		"take": takeSignal, "consume": consumeSignals, "closed blocks": blocksClosed, "name blocks": nameBlocks, "note a text": noteText, "entry of a text": entryOf, "a task's result": resultFor,
		"name a result": setResultOf, "hold a result": unnameResult, "name a blob": setContentOf, "is of an entry": isOfEntry, "empty a block": emptyBlock, "grow": growBlock,
		"drop chunks": dropChunks, "withhold": withholdBlob, "empty blob": emptyBlob, "drop rows": dropRows, "withheld": withheldBlobs, "stage": stageBlob, "unveil": unveilBlobs,
		"signal blobs": signalBlobs, "signal values": signalValues, "loose blobs of one": dropUploads, "idempotency": idempotencyByKey, "sweep idempotency": sweepIdempotency,
		"sweep sessions": sweepSessions, "trim sessions": trimSessions, "drop sessions of a key": dropSessionsOf, "take items": takeConversationItems, "waiting of a key": waitingOfKey,
		"waiting on a queue": waitingOnQueue, "unblock": unblock, "streams of an org": streamsOfOrg, "producer": producerByID, "move stream": moveStream,
		"question": load.QuestionByID, "open questions of one": load.OpenQuestions, "due questions of one": load.DueQuestions, "signal keys": load.SignalKeys,
		"sweep links": sweepLinks, "link": load.LinkByToken, "links of a question": load.LinksOf, "trim links": trimLinks, "drop links": dropLinks, "drop links of a key": dropLinksOfKey,
		"grant": tenant.GrantInOrg, "grants of a run": tenant.GrantsOfRun, "grants of a definition": tenant.GrantsOfDefinition,
		"drop grant": dropGrant, "old grants of a run": dropOldOfRun, "old grants of a definition": dropOldOfDefinition,
		"waiting of a webhook": waitingOfWebhook, "deaden": deadenWaiting, "sweep old deliveries": sweepOld, "sweep deliveries of one": sweepOf,
		"deleted webhook": deletedWebhook, "webhooks of an org": tenant.WebhooksOfOrg, "count of webhooks": webhooksOfOrg, "webhook": tenant.WebhookByID,
		"due deliveries": statement.NewAlone(tenant.DeliverySelect + dueByWebhookText),
		"forget workers": forgetWorkers, "workers of an org": workersOfOrg, "pauses of an org": pausesOfOrg, "pause of a queue": load.PauseOfQueue,
		"drop stream content": dropsStream[0].query, "drop producers": dropsStream[1].query,
	}
}

// TextStatements returns the statements of this package for the text index and the metadata,
// by name.
func TextStatements() map[string]*statement.Statement {
	return map[string]*statement.Statement{
		"put metadata": putMetadata, "one part": onePart, "put part": putPart, "change part": changePart, "set blocks": setBlocks, "number of one": numberOfOne, "unlisted": unlisted,
	}
}
