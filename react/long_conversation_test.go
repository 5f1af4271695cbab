package react_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/longtest"
)

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// toolTurns returns a model script of n turns with tool calls. Some calls change the workspace, and
// some turns have parallel calls.
func toolTurns(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "turn\n  thinking Step %d.\n  text I do step %d.\n", i, i)
		switch i % 5 {
		case 0:
			fmt.Fprintf(&b, "  call bash {\"command\": \"echo step %d >> effects\"}\n", i)
		case 1:
			fmt.Fprintf(&b, "  call write-file {\"path\": \"made-%d\", \"content\": \"%d\\n\"}\n  call read-file {\"path\": \"notes\"}\n", i, i)
		case 2:
			b.WriteString("  call grep {\"pattern\": \"line 7\"}\n  call read-file {\"path\": \"notes\"}\n  call read-file {\"path\": \"notes\"}\n")
		default:
			b.WriteString("  call read-file {\"path\": \"notes\"}\n")
		}
	}
	return b.String() + "turn\n  text All steps are done.\n"
}

// playTools runs the script of toolTurns to its end, while processes die as the plan says.
func playTools(t *testing.T, n int, d crashPlan) *longOutcome {
	h := newCrashStore(t, toolTurns(n), d)
	var notes strings.Builder
	for i := range 40 {
		fmt.Fprintf(&notes, "line %d of the notes, which the model reads again and again\n", i)
	}
	writeFile(t, filepath.Join(h.folder, "notes"), notes.String())
	stop := h.work()
	defer stop()
	id := h.start("do all steps", true)
	h.until(id, func(x *perdure.Execution) bool { return x.Status == perdure.StatusCompleted })
	stop()
	return h.outcome(id)
}

// playChat runs a chat of n messages, while processes die as the plan says. Each message is sent
// after the previous one is answered.
func playChat(t *testing.T, n int, d crashPlan) *longOutcome {
	var script strings.Builder
	for i := range n {
		fmt.Fprintf(&script, "turn\n  text answer %d %s\n", i, strings.Repeat("word ", 60))
	}
	h := newCrashStore(t, script.String(), d)
	stop := h.work()
	defer stop()
	id := h.start("message 0", false)
	for i := 1; i <= n; i++ {
		h.until(id, func(x *perdure.Execution) bool {
			return x.Status == perdure.StatusWaiting && x.WaitReason == "signal" && h.stopped(x) == i
		})
		if i < n {
			h.say(id, fmt.Sprintf("message %d %s", i, strings.Repeat("more ", 40)))
		}
	}
	stop()
	return h.outcome(id)
}

// stopped returns the turn index in the newest checkpoint of the execution. It is the number of
// turns that have ended.
func (h *crashStore) stopped(x *perdure.Execution) int {
	h.t.Helper()
	c, err := h.store.Checkpoint(h.t.Context(), x.ID, x.CheckpointSeq)
	if err != nil {
		h.t.Fatal(err)
	}
	var state struct {
		TurnIndex int `json:"turnIndex"`
	}
	if err := json.Unmarshal(c.State, &state); err != nil {
		h.t.Fatal(err)
	}
	return state.TurnIndex
}

func (h *crashStore) say(id uuid.UUID, text string) {
	h.t.Helper()
	value, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := h.client.Signal(h.t.Context(), "default", id, engine.SignalRequest{Name: perdure.UserMessage, Value: value}); err != nil {
		h.t.Fatal(err)
	}
}

// stride is the number of commits between two deaths in the long form of the test. The test plays
// the run once for each first death at the commits 1 to `stride`, so that a process dies at each
// commit in one of the plays.
const stride = 7

// TestALongConversationSurvivesDeaths checks a run of many turns with tools, and a long chat, in a
// window of 8,000 tokens, while one process after another dies. The run and the chat must end as
// they would without deaths. No stored answer is paid for again, no finished tool runs again, and
// no message is lost or doubled.
//
// In the short form the processes die at random commits. In the long form, the run has 300 turns,
// the chat has 2,000 messages, and both are killed before and after every commit.
func TestALongConversationSurvivesDeaths(t *testing.T) {
	longtest.Skip(t, "minutes")
	seed := longtest.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	turns, messages, plan := 80, 120, []crashPlan{
		{first: 1 + random.IntN(60), each: 50 + random.IntN(20), how: []interruption{before, after}[random.IntN(2)]},
	}
	if longtest.All() {
		turns, messages, plan = 300, 2000, nil
		for first := range stride {
			plan = append(plan, crashPlan{first + 1, stride, before}, crashPlan{first + 1, stride, after})
		}
	}
	for name, play := range map[string]func(*testing.T, crashPlan) *longOutcome{
		"tools": func(t *testing.T, d crashPlan) *longOutcome { return playTools(t, turns, d) },
		"chat":  func(t *testing.T, d crashPlan) *longOutcome { return playChat(t, messages, d) },
	} {
		t.Run(name, func(t *testing.T) {
			want := play(t, crashPlan{})
			want.undisturbed(t)
			for _, d := range plan {
				t.Run(fmt.Sprintf("%s commit %d and each %d", d.how, d.first, d.each), func(t *testing.T) {
					t.Parallel()
					play(t, d).compare(t, want)
				})
			}
		})
	}
}
