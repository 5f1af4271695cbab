package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// TestATurnIsStopped stops a turn while the model answers, and another turn while a command runs.
// It checks that the text that clients have seen is kept, and that each tool call gets a result.
// The run accepts the next message, although it was started as one-shot. Another request to stop
// the same turn, or a request while no turn runs, changes nothing.
func TestATurnIsStopped(t *testing.T) {
	for _, mode := range []perdure.PersistenceMode{perdure.Remote, perdure.Local} {
		t.Run(string(mode), func(t *testing.T) { turnIsStopped(t, mode) })
	}
}

func turnIsStopped(t *testing.T, mode perdure.PersistenceMode) {
	long := fixture{Response: turn{Text: strings.Repeat("many words and more ", 500), Usage: tokens(100, 100)}, Latency: 20, ChunkSize: 10}
	long.Match.UserMessage = "Tell a story"
	last := fixture{Response: turn{Text: "Yes, I am.", Usage: tokens(300, 10)}, ChunkSize: 12}
	last.Match.UserMessage = "Are you there"
	sleep := toolCall{ID: "c1", Name: "bash", Arguments: map[string]any{"command": "echo began >> effects.txt; sleep 60; echo ended >> effects.txt"}}
	read := toolCall{ID: "c2", Name: "read-file", Arguments: map[string]any{"path": "list.txt"}}
	mock := startAimock(t, long,
		say("Sleep a while", false, turn{Text: "I sleep.", Calls: []toolCall{sleep, read}, Usage: tokens(200, 10)}),
		last,
	)
	s := newDeployment(t, setup{env: mock.environment("anthropic")})
	s.write("list.txt", "alpha\n")
	id := s.start(client.StartRequest{
		UserPrompt: "Tell a story", OneShot: true, Tools: &toolNames, Models: []perdure.ModelConfig{{Provider: "anthropic", ModelID: "claude-sonnet-4-5"}},
		PersistenceMode: mode,
	})
	f := s.follow(id)
	s.showIfFailed(f, id)
	eventually(t, "the model speaks", func() bool { return f.has(perdure.EventToken, "many words") })
	s.stop(id, true)
	s.untilStopped(id)
	s.stop(id, false) // there is nothing to stop
	text := s.lastText(id)
	if !strings.HasPrefix(long.Response.Text, text) || len(text) < 10 || len(text) == len(long.Response.Text) {
		t.Errorf("the stored answer is %q", text)
	}
	if shown := s.shown(id); shown != text {
		t.Errorf("clients have seen %q, stored is %q", shown, text)
	}
	s.say(id, "Sleep a while")
	eventually(t, "the command runs", func() bool { return strings.Contains(s.readOrNone("effects.txt"), "began") })
	s.stop(id, true)
	s.untilStopped(id)
	lines := plain(s.transcript(id))
	if !strings.Contains(lines, "stopped by the user") || strings.Count(lines, "tool_result ") != 2 {
		t.Errorf("the conversation is\n%s", lines)
	}
	s.say(id, "Are you there")
	s.until(id, "the run ends", func(x *perdure.Execution) bool { return x.Status == perdure.StatusCompleted })
	if last := s.lastText(id); last != "Yes, I am." {
		t.Errorf("the last answer is %q", last)
	}
	if strings.Contains(s.read("effects.txt"), "ended") {
		t.Error("the command was not killed")
	}
	s.stop(id, false)
	mock.calls() // fails if a call was refused
}

// stop asks the server to stop the turn of a run. The parameter `want` says whether the response must
// report that a turn was running.
func (s *deployment) stop(id uuid.UUID, want bool) {
	s.t.Helper()
	before, err := s.Get(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	reply, err := s.Interrupt(s.t.Context(), id, perdure.Interrupt{Reason: "enough"})
	if err != nil || reply.Stopped != want {
		s.t.Fatalf("the interrupt gets %+v, %v", reply, err)
	}
	if after, err := s.Get(s.t.Context(), id); !want && (err != nil || after.Version != before.Version) {
		s.t.Errorf("an interrupt of nothing made version %d of %d, %v", after.Version, before.Version, err)
	}
}

func (s *deployment) untilStopped(id uuid.UUID) {
	s.t.Helper()
	s.until(id, "the turn is stopped", func(x *perdure.Execution) bool {
		if x.Status != perdure.StatusWaiting || x.WaitReason != "signal" {
			return false
		}
		var end struct {
			Data struct{ Type, StopReason string }
		}
		for _, e := range s.events(id) {
			if e.Type == perdure.EventData && strings.Contains(string(e.Data), "response_end") && json.Unmarshal(e.Data, &end) != nil {
				return false
			}
		}
		return end.Data.StopReason == "interrupted"
	})
}

// lastText returns the text of the newest answer of a model.
func (s *deployment) lastText(id uuid.UUID) (text string) {
	s.t.Helper()
	for e, err := range s.Entries(s.t.Context(), id) {
		if err != nil {
			s.t.Fatal(err)
		}
		if m, err := e.Message(); err == nil && m.Role == perdure.RoleAssistant {
			text = m.PlainText()
		}
	}
	return text
}

// shown returns the text of all text blocks in the log of a run, without superseded blocks.
func (s *deployment) shown(id uuid.UUID) (text string) {
	s.t.Helper()
	texts, order := map[int64]string{}, []int64{}
	for _, e := range s.events(id) {
		var d struct {
			Seq, BlockSeq int64
			Data          json.RawMessage
			Reason        string
		}
		if err := json.Unmarshal(e.Data, &d); err != nil {
			s.t.Fatal(err)
		}
		switch e.Type {
		case perdure.EventToken:
			var piece string
			if err := json.Unmarshal(d.Data, &piece); err != nil {
				s.t.Fatal(err)
			}
			if _, known := texts[d.Seq]; !known {
				order = append(order, d.Seq)
			}
			texts[d.Seq] += piece
		case perdure.EventBlockClosed:
			if d.Reason == string(perdure.BlockSuperseded) {
				delete(texts, d.BlockSeq)
			}
		}
	}
	for _, seq := range order {
		text += texts[seq]
	}
	return text
}

func (s *deployment) readOrNone(name string) string {
	raw, err := os.ReadFile(filepath.Join(s.workspace, name))
	if err != nil {
		return ""
	}
	return string(raw)
}
