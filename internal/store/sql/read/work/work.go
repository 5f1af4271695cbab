// Package work reads what a server has to do: work that waits or is due, queues, workers, leases,
// and rows to delete.
package work

import (
	"github.com/perdure/perdure/internal/store/sql/read/base"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// Work reads what a server has to do: work that waits or is due, queues, workers, leases, and rows
// to delete.
type Work struct{ *base.Source }

// Statements returns the statements of this package that run often, by name, so that each store can
// check their query plans.
func Statements(w *statement.Dialect) map[string]*statement.Statement {
	return map[string]*statement.Statement{
		"census of agents": censusAgents, "census of the alone": censusAlone, "census of tasks": censusTasks, "census of the blocked": censusBlocked,
		"census of the held": censusHeld, "census of the waiting": censusWaiting, "census of deliveries": censusDeliveries, "due": dueByLease(w),
		"workers": workersAfter, "workers seen": workersSeen, "held of a worker": heldOfWorker, "held of an org's workers": heldOfWorkers,
		"held tasks of an org": heldTasks, "waiting on a queue by time": waitingAgents, "waiting alone on a queue": waitingAlone,
		"waiting tasks of a queue": waitingTasks, "running tasks of a queue": runningTasks, "pauses": pausesAll, "pauses in order": pausesAfter,
		"queues of agents": queueNames[0], "queues of the alone": queueNames[1], "queues of tasks": queueNames[2], "queues of held tasks": queueNames[3],
	}
}
