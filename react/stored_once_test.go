package react_test

import (
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/store/storetest/invariants"
)

// TestContentOfATurnIsStoredOnce checks that the content of a model's answer and of a tool's result
// is stored only in their entries. Blocks and results of tasks must refer to these entries.
func TestContentOfATurnIsStoredOnce(t *testing.T) {
	long := strings.Repeat("look at \"all\" of <it> & é, ", 40)
	s := newScriptedEngine(t, 2, `
turn
  thinking `+long+`
  text I begin. `+long+`
  call bash {"command": "seq 1 500"}
  call bash {"command": "seq 1 20000"}
turn
  text Done.`)
	id := s.start(engine.StartRequest{UserPrompt: "go", OneShot: true})
	if x := s.until(id, func(x *perdure.Execution) bool { return x.Status.Terminal() }); x.Status != perdure.StatusCompleted {
		t.Fatalf("the run is %s", x.Status)
	}
	audit := s.store.(invariants.Auditor)
	blocks, err := audit.AuditBlocks(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]int{}
	for _, b := range blocks {
		if b.Entry != nil {
			named[b.Path[strings.LastIndex(b.Path, ".")+1:]]++
		}
	}
	if named["thinking"] != 1 || named["text"] < 2 || named["rawArguments"] != 2 {
		t.Errorf("the blocks that name an entry are %v", named)
	}
	results, err := audit.AuditResults(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 4 {
		t.Errorf("%d results of four name an entry", len(results))
	}
	for _, r := range results {
		if r.Held > 400 {
			t.Errorf("the result of task %s still holds %d bytes", r.Task, r.Held)
		}
	}
}
