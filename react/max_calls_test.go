package react_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/longtest"
)

const tooManyCalls = `
turn
  call bash {"command": "echo one"}
turn
  call bash {"command": "echo two"}
  call bash {"command": "echo three > three"}
turn
  call bash {"command": "echo four > four"}
turn
  text Done.
`

// TestMaxToolCallsHoldsOverAllTurns checks that a response runs at most MaxToolCalls tool calls in
// all its turns together, and that further calls get a result without being run. Each response
// counts its own calls. In one subtest the worker parks no goroutines, so that the function is
// entered again.
func TestMaxToolCallsHoldsOverAllTurns(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, parked := range []int{100, -1} {
		t.Run(fmt.Sprint(parked, " parked"), func(t *testing.T) {
			s := newWorkerPool(t, parked, tooManyCalls+strings.ReplaceAll(tooManyCalls, "turn\n  call bash {\"command\": \"echo two\"}", "turn\n  call bash {\"command\": \"touch five\"}"))
			two := 2
			id := s.start(engine.StartRequest{UserPrompt: "go", Turns: perdure.Turns{MaxToolCalls: &two}})
			x := s.idle(id, 0)
			if got := s.tools(id); !slices.Equal(got, []string{"scheduled bash", "completed bash", "scheduled bash", "completed bash"}) {
				t.Errorf("tools: %v", got)
			}
			told := strings.Join(s.conversation(id), "\n")
			if n := strings.Count(told, "not run: the response may call 2 tools"); n != 2 || !strings.Contains(told, "Done.") {
				t.Errorf("%d calls were answered without a run:\n%s", n, told)
			}
			s.say(id, "again")
			s.idle(id, x.CheckpointSeq)
			if n := len(s.tools(id)); n != 8 {
				t.Errorf("after the second response %d events of tools: %v", n, s.tools(id))
			}
		})
	}
}
