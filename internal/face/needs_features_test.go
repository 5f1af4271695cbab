package face_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// TestExecutionsSayWhatTheyNeed checks the features that a worker must support for an execution. An
// execution needs none before its first compaction. Afterwards, the response for the execution and
// the list of executions name the features that compactions need.
func TestExecutionsSayWhatTheyNeed(t *testing.T) {
	h := open(t)
	r := h.begin()
	first := r.Say(perdure.UserText("hello"))
	needs := func() [][]string {
		t.Helper()
		var one struct{ NeedsFeatures []string }
		h.Call("GET", h.Path(r.ID, ""), "").Want(200, &one)
		var list struct {
			Items []struct{ NeedsFeatures []string }
		}
		h.Call("GET", "/agent-executions", "").Want(200, &list)
		return [][]string{one.NeedsFeatures, list.Items[0].NeedsFeatures}
	}
	for _, names := range needs() {
		if names != nil {
			t.Errorf("without a compaction it needs %q", names)
		}
	}
	r.Compact(perdure.CompactionRecord{Last: first.ID, Pinned: []uuid.UUID{}, Reason: perdure.CompactionManual}, "summary")
	for _, names := range needs() {
		if !slices.Equal(names, []string{"context/1"}) {
			t.Errorf("after a compaction it needs %q", names)
		}
	}
}
