package perdure_test

import (
	"testing"

	"github.com/perdure/perdure"
)

// TestBulkActionsSkipTurnsThatNoLongerFail checks a bulk action with the filter failedTurn. The
// action has an effect only on conversations that still wait for the signal retry when the action
// comes to them.
func TestBulkActionsSkipTurnsThatNoLongerFail(t *testing.T) {
	waiting := func(kind string, signals ...string) *perdure.Execution {
		var leaves []perdure.Wait
		for _, s := range signals {
			leaves = append(leaves, perdure.WaitSignal(s))
		}
		w := perdure.WaitAny(leaves...)
		return &perdure.Execution{Kind: kind, Status: perdure.StatusWaiting, Wait: &w}
	}
	failed := waiting(perdure.ReactKind, perdure.UserMessage, perdure.RetrySignal)
	statuses := []perdure.Status{perdure.StatusWaiting, perdure.StatusRunning}
	all := perdure.BulkAction{Action: perdure.BulkCancel, Statuses: statuses}
	only := perdure.BulkAction{Action: perdure.BulkCancel, Statuses: statuses, Filter: perdure.BulkFilter{FailedTurn: true}}
	if !only.Takes(failed) {
		t.Error("a failed turn is skipped")
	}
	for what, x := range map[string]*perdure.Execution{
		"one that waits for a message": waiting(perdure.ReactKind, perdure.UserMessage, "retry2"),
		"another kind":                 waiting("import", perdure.UserMessage, perdure.RetrySignal),
		"one that runs":                {Kind: perdure.ReactKind, Status: perdure.StatusRunning, Wait: failed.Wait},
	} {
		if !all.Takes(x) || only.Takes(x) {
			t.Errorf("%s: %v without the filter, %v with it", what, all.Takes(x), only.Takes(x))
		}
	}
}
