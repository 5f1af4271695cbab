package apply

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/load"
)

// A decision can depend on data outside of its execution for which there is no row to lock, such as
// the claims of a worker, the running tasks of a queue, or an idempotency key that may not exist
// yet. A lock with a name protects such data. It also protects rows outside of executions that are
// read, changed and written back. A command locks the name before it reads the data, and keeps the
// lock until the transaction ends.
//

// sharedBy returns the names that a command with these needs locks in shared mode. Commands that
// assign executions to the same worker run concurrently, because they share the worker's name. For
// an execution that must run alone on its worker, heldBy returns that name instead.
func sharedBy(x *perdure.Execution, n store.Needs) (names []string) {
	if x != nil && n.Worker != nil && x.Crashes < store.AloneScore {
		names = append(names, load.HeldWorker(*n.Worker))
	}
	if x != nil && n.Grants && !changesGrants(n) {
		names = append(names, heldGrants(x.Org))
	}
	return names
}

// changesGrants reports whether the command may change the grants of its org.
func changesGrants(n store.Needs) bool { return n.ChangeGrants || n.Grant != nil }

// heldGrants returns the lock name for the grants of an org. A command that deletes a grant waits
// for the commands that have read the grant. So no question is answered by a revoked grant.
func heldGrants(org string) string { return "grants of " + org }

// heldBy returns the names that a command with these needs locks exclusively.
func heldBy(org string, x *perdure.Execution, n store.Needs) (names []string) {
	if x != nil {
		if n.Worker != nil && x.Crashes >= store.AloneScore {
			names = append(names, load.HeldWorker(*n.Worker))
		}
		for _, key := range n.ConcurrencyKeys {
			names = append(names, load.HeldKey(x.Org, key))
		}
		for _, queue := range n.Queues {
			names = append(names, load.HeldQueue(x.Org, queue))
		}
	}
	if n.Idempotency != "" {
		names = append(names, "idempotency "+org+"\x00"+n.Idempotency)
	}
	if n.Definition != nil {
		names = append(names, "definition "+n.Definition.String())
	}
	if n.Stream != "" {
		names = append(names, "stream "+org+"\x00"+n.Stream)
	}
	if n.StreamCount {
		names = append(names, "streams of "+org)
	}
	if n.Kinds {
		names = append(names, "kinds of "+org)
	}
	if n.KeyID != nil {
		names = append(names, "api key "+n.KeyID.String())
	}
	if n.Session != nil {
		names = append(names, "session "+n.Session.String())
	}
	if n.Conversation != "" {
		names = append(names, "conversation "+n.Conversation)
	}
	if n.Org {
		names = append(names, "org "+org)
	}
	if changesGrants(n) {
		names = append(names, heldGrants(org))
	}
	names = append(names, heldForWorkers(org, n)...)
	names = append(names, heldForBulk(org, n)...)
	return append(names, heldForWebhooks(n)...)
}

// heldForRoom returns the names to lock before changes are applied: the concurrency keys of tasks
// that end or are delayed, because waiting tasks with these keys are then unblocked. It adds the
// name heldTexts if the changes write the text index or mark an execution as deleted, and the name
// heldPruned if they delete rows.
func heldForRoom(k *known, ch *store.Changes) (names []string) {
	for _, after := range ch.Tasks {
		if before := k.tasks[after.ID].OrNil(); leavesRoom(before, after) {
			names = append(names, load.HeldKey(before.Org, before.Options.ConcurrencyKey))
		}
	}
	if ch.Texts != nil || ch.Prune != nil && ch.Prune.Execution {
		names = append(names, heldTexts)
	}
	if ch.Prune != nil && ch.Prune.Rows > 0 && ch.Prune.Checkpoints == nil {
		names = append(names, heldPruned)
	}
	return names
}
