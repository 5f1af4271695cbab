package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// TestDeployDisturbsNothing ends worker and server with SIGTERM during a run, like a deploy. It checks
// that the running tool finishes, that no model call is repeated, and that the run completes.
func TestDeployDisturbsNothing(t *testing.T) {
	mock := startAimock(t, conversation("deploy", 0, 30*time.Millisecond,
		turn{Text: "A command that takes its time.", Calls: []toolCall{
			call("bash", 0, map[string]any{"command": "echo begun; sleep 1.5; echo one >> effects.txt"}),
		}},
		turn{Text: "And now a long answer, in many pieces, so that there is time to end the server in its middle: " + strings.Repeat("on and on, ", 30)},
	)...)
	s := newDeployment(t, setup{lease: 10 * time.Second, env: mock.environment("anthropic")})
	tools := []string{"bash"}
	id := s.start(client.StartRequest{
		UserPrompt: "deploy", Tools: &tools, OneShot: true, Models: []perdure.ModelConfig{{Provider: "anthropic", ModelID: "claude-sonnet-4-5"}},
	})
	f := s.follow(id)
	s.showIfFailed(f, id)

	f.sees(t, perdure.EventTerminal, "begun")
	old := s.worker
	old.terminate()
	s.worker = launch(t, old.command)
	if code := old.exit(); code != 0 {
		t.Errorf("the worker ended with %d", code)
	}
	f.sees(t, perdure.EventToken, "long answer")
	before := time.Now()
	s.server.terminate()
	if code := s.server.exit(); code != 0 && code != 130 {
		t.Errorf("the server ended with %d", code)
	}
	t.Logf("the server took %s to end", time.Since(before))
	s.server = launch(t, s.server.command)

	if x := s.ended(id); x.Status != perdure.StatusCompleted {
		t.Errorf("the run is %s", describe(x))
	}
	tasks := trace(t, s.sameLog(f, id))
	checkFinished(t, tasks)
	if n := len(mock.calls()); n != 2 {
		t.Errorf("%d model calls for two answers", n)
	}
	if got := s.read("effects.txt"); got != "one\n" {
		t.Errorf("the effects are %q", got)
	}
}

func checkFinished(t *testing.T, tasks map[uuid.UUID]*taskTrace) {
	t.Helper()
	for _, task := range tasks {
		if task.end != perdure.EventTaskCompleted || task.attempts != 1 {
			t.Errorf("%s: %s after %d attempts", task.kind, task.end, task.attempts)
		}
	}
}

// sees waits until the words occur in the log, in an event of the given type or in a block.
func (f *follower) sees(t *testing.T, kind perdure.EventType, words string) {
	t.Helper()
	eventually(t, string(kind)+" with "+words, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		blocks := map[int64]string{}
		for _, e := range f.events {
			if head, err := e.Head(); err == nil && e.Type == kind {
				blocks[head.Seq] += head.Text()
				if strings.Contains(blocks[head.Seq], words) {
					return true
				}
			}
		}
		return false
	})
}
