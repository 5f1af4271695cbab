package react_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/engine/questions"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/scripted"
	"github.com/perdure/perdure/react"
	"github.com/perdure/perdure/tool"
	"github.com/perdure/perdure/worker/local"
)

// runner returns an agent that calls Run with its input as the prompt, and returns the text of the
// last answer.
func runner(o react.RunOptions) agent.Definition {
	return agent.DefineFunc("runner", func(ctx agent.Context, prompt string) (string, error) {
		r, err := react.Run(ctx, []perdure.Message{perdure.UserText(prompt)}, o)
		return r.Text(), err
	})
}

func (s *workerPool) startRunner(r engine.StartRequest, prompt string) uuid.UUID {
	s.t.Helper()
	input, err := json.Marshal(prompt)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Kind, r.Input = "runner", input
	x, err := s.engine.Start(s.t.Context(), "default", r)
	if err != nil {
		s.t.Fatal(err)
	}
	return x.ID
}

func ended(x *perdure.Execution) bool { return x.Status.Terminal() }

// shape returns the requests as text. Their random ids of tool calls are replaced by numbers.
func shape(t *testing.T, requests []llm.Request) string {
	t.Helper()
	raw, err := json.Marshal(requests)
	if err != nil {
		t.Fatal(err)
	}
	text, seen := string(raw), 0
	for _, r := range requests {
		for _, m := range r.Messages {
			for _, c := range m.ToolCalls() {
				if strings.Contains(text, c.ID) {
					text = strings.ReplaceAll(text, c.ID, fmt.Sprint("call ", seen))
					seen++
				}
			}
		}
	}
	return text
}

// TestRunOnEachLine checks that Run sends the model the same requests as the react agent. The
// subtests differ in the connection (one process or gRPC) and in the persistence mode (REMOTE or
// LOCAL). The tool results are stored as blobs.
func TestRunOnEachLine(t *testing.T) {
	longtest.Skip(t, "seconds")
	const turns = 5
	script := strings.Replace(looks(turns, 100_000), "turn\n  call find", "turn\n  text I look.\n  call unknown {\"a\":  \"<b>\"}\n  call find", 1)
	for _, mode := range []perdure.PersistenceMode{perdure.Remote, perdure.Local} {
		for _, wire := range []bool{false, true} {
			t.Run(fmt.Sprint(mode, " over gRPC ", wire), func(t *testing.T) {
				s := emptyWorkerPool(t, script)
				n := &windowModel{Provider: scripted.New(scripted.Config{Dir: s.scripts, Journal: s.journal}), window: 1_000_000}
				l := &lookTool{runs: map[int]int{}}
				kept, err := local.Open(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := kept.Close(); err != nil {
						t.Error(err)
					}
				})
				s.work(100, n.employ(l), func(c *workerSetup) {
					c.local = kept
					o := react.RunOptions{Model: perdure.ModelConfig{Provider: "scripted", ModelID: "s"}}
					for _, name := range []string{"read-file", "write-file", "edit-file", "bash", "grep", "find"} {
						i := slices.IndexFunc(c.Tools, func(t tool.Tool) bool { return t.Name == name })
						o.Tools = append(o.Tools, c.Tools[i])
					}
					c.others = []agent.Definition{runner(o)}
					if wire {
						c.over = func(perdure.Dispatch) perdure.Dispatch { return s.overWire() }
					}
				})
				s.idle(s.start(engine.StartRequest{UserPrompt: "go", PersistenceMode: mode}), 0)
				want, _ := n.requests()
				x := s.until(s.startRunner(engine.StartRequest{PersistenceMode: mode}, "go"), ended)
				if x.Status != perdure.StatusCompleted {
					t.Fatalf("it is %s, %s", x.Status, errorOf(x))
				}
				all, _ := n.requests()
				asked := all[len(want):]
				if diff := cmp.Diff(shape(t, want), shape(t, asked)); len(asked) != turns+1 || diff != "" {
					t.Errorf("%d calls of the model: %s", len(asked), diff)
				}
				if mode == perdure.Remote {
					s.checkRebuilt(x.ID, n.providers, asked)
				}
			})
		}
	}
}

// checkRebuilt compares the requests of a Run that a server rebuilds with the requests that were
// sent.
func (s *workerPool) checkRebuilt(id uuid.UUID, providers *llm.Providers, asked []llm.Request) {
	s.t.Helper()
	page, err := s.store.ListTasks(s.t.Context(), id, false, "", 200)
	if err != nil {
		s.t.Fatal(err)
	}
	calls, n := react.Calls{Providers: providers}, 0
	for _, t := range page.Items {
		if t.Kind != react.ModelTask {
			continue
		}
		found, err := s.store.Tasks(s.t.Context(), id, []uuid.UUID{t.ID}, false)
		if err != nil {
			s.t.Fatal(err)
		}
		call, err := calls.Rebuild(perdure.StoredCall{Task: found[0], FindTasks: func(ids ...uuid.UUID) ([]*perdure.Task, error) {
			return s.store.Tasks(s.t.Context(), id, ids, false)
		}})
		if err != nil {
			s.t.Fatal(err)
		}
		var in struct {
			Turn int `json:"turn"`
		}
		if err := json.Unmarshal(found[0].Input, &in); err != nil {
			s.t.Fatal(err)
		}
		n++
		want := asked[in.Turn]
		if diff := cmp.Diff(want.Messages, call.Messages); diff != "" || call.Purpose != perdure.CallGenerate || len(call.Tools) != len(want.Tools) || call.LeafEntryID != nil {
			s.t.Errorf("turn %d is rebuilt with the purpose %s and %d tools: %s", in.Turn, call.Purpose, len(call.Tools), diff)
		}
	}
	if n != len(asked) {
		s.t.Errorf("%d of %d calls were found", n, len(asked))
	}
}

// TestRunIsApproved checks that an approved call of a Run is run with exactly the approved bytes,
// over gRPC. The subtests differ in whether the function is entered again, in the persistence mode,
// and in which policy requires the approval: that of the execution or that of the Run.
func TestRunIsApproved(t *testing.T) {
	longtest.Skip(t, "seconds")
	var policy perdure.ApprovalPolicy
	if err := json.Unmarshal([]byte(`"ask"`), &policy); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []perdure.PersistenceMode{perdure.Remote, perdure.Local} {
		for _, parked := range []int{-1, 100} {
			for _, inCode := range []bool{false, true} {
				t.Run(fmt.Sprint(mode, " parked ", parked, " in code ", inCode), func(t *testing.T) {
					r := engine.StartRequest{PersistenceMode: mode}
					o := react.RunOptions{Model: perdure.ModelConfig{Provider: "scripted", ModelID: "s"}}
					if inCode {
						o.Approvals = policy
					} else {
						r.Approvals = policy
					}
					runApproved(t, parked, r, o)
				})
			}
		}
	}
}

// runApproved plays a Run with two tool calls, and approves both.
func runApproved(t *testing.T, parked int, r engine.StartRequest, o react.RunOptions) {
	s := emptyWorkerPool(t, "turn\n  call bash {\"command\":  \"echo '<1>'\"}\nturn\n  expect <1>\n  call bash {\"command\": \"echo 2\"}\nturn\n  expect 2\n  text Done.\n")
	kept, err := local.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kept.Close(); err != nil {
			t.Error(err)
		}
	})
	s.work(parked, func(c *workerSetup) {
		o.Tools = c.Tools
		c.local, c.others = kept, []agent.Definition{runner(o)}
		c.over = func(perdure.Dispatch) perdure.Dispatch { return s.overWire() }
	})
	id := s.startRunner(r, "go")
	for range 2 {
		s.until(id, func(x *perdure.Execution) bool { return x.OpenQuestions > 0 || ended(x) })
		page, err := s.store.Questions(t.Context(), "default", store.QuestionFilter{ExecutionID: &id, Limit: 10, Status: []perdure.QuestionStatus{perdure.QuestionOpen}})
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range page.Items {
			_, err := s.engine.Answer(t.Context(), "default", questions.AnswerRequest{
				Question: q.ID, Verdict: perdure.VerdictApprove, DetailsSHA256: &q.DetailsSHA256, Role: perdure.KeyAdmin,
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if x := s.until(id, ended); x.Status != perdure.StatusCompleted || r.PersistenceMode == perdure.Remote && string(x.Output) != `"Done."` {
		t.Errorf("it is %s, %s: %s", x.Status, errorOf(x), x.Output)
	}
}
