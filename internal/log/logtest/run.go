package logtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/tool"
)

// script is the output of the model in the run that the projections read. It has thoughts, parallel
// tool calls, and texts with lists, tables and code. While the tool `broken` fails, the worker of
// the tool `stubborn` is stopped. A user message arrives during the run.
const script = `
pace 1ms
turn
  thinking Let me see — naïvely, 先ず.
  text <<END
Plan for **this**:

- look *around*
- then stop
END
  call noise {"lines": 4}
  call stubborn {}
  call broken {}

turn
  text <<END
| tool | said |
|------|------|
| noise | é € 漢 |

` + "```go\ny := `1 < 2`\n```" + `
END
  call hail {}
  call alone {"lines": 9}

turn
  text "Very" well: a < b && c > d.
  call alone {"lines": 2}

turn
  text <<END
Done:

1. this
END
`

// runState records what has happened once in a run (a model call that failed, a tool call whose
// worker was stopped), so that it does not happen again when the agent or a task is repeated.
type runState struct {
	stumbled, held atomic.Bool
	holds          chan struct{} // closed when the stubborn tool waits for its worker to stop
	started        sync.WaitGroup
	id             uuid.UUID // id of the execution, once it has started
}

func newRunState() *runState {
	r := &runState{holds: make(chan struct{})}
	r.started.Add(1)
	return r
}

// interruptedProvider is a model provider that makes one model call fail in the middle of a table
// in the streamed text.
type interruptedProvider struct {
	llm.Provider
	run *runState
}

// Stream implements llm.Provider.
func (s *interruptedProvider) Stream(ctx context.Context, req llm.Request, emit func(llm.Delta) error) (*llm.Response, error) {
	second := 0
	for _, m := range req.Messages {
		if m.Role == perdure.RoleAssistant {
			second++
		}
	}
	left := -1
	if second == 1 && s.run.stumbled.CompareAndSwap(false, true) {
		left = 12
	}
	return s.Provider.Stream(ctx, req, func(d llm.Delta) error {
		if left == 0 {
			return &llm.Error{Kind: llm.Overloaded, Retryable: true, RetryAfter: time.Millisecond, Provider: "scripted", Message: "too much"}
		}
		left--
		return emit(d)
	})
}

type noiseIn struct {
	Lines int `json:"lines"`
}

func noise(_ context.Context, call *tool.Call, in noiseIn) (tool.Result, error) {
	for n := range in.Lines {
		call.Stdout(fmt.Appendf(nil, "line %d\n", n))
		if n%3 == 1 {
			call.Stderr(fmt.Appendf(nil, "wärning %d\n", n))
			call.Emit(map[string]any{"type": "progress", "n": n})
		}
	}
	return tool.Text("made a noise"), nil
}

func (h *deployment) tools() []tool.Tool {
	again := tool.WithOnLost(perdure.OnLostRetry)
	return []tool.Tool{
		tool.New("noise", "Makes a noise.", noise, again),
		tool.New("alone", "Makes a noise alone.", noise, again, tool.WithBarrier()),
		tool.New("broken", "Fails.", func(_ context.Context, call *tool.Call, _ struct{}) (tool.Result, error) {
			call.Stderr([]byte("it does not work\n"))
			return tool.Errorf("it is broken"), nil
		}, again),
		tool.New("stubborn", "Waits for the end of its worker, once.", h.stubborn, again),
		tool.New("hail", "Lets the user speak.", h.hail, again),
	}
}

func (h *deployment) stubborn(ctx context.Context, call *tool.Call, _ struct{}) (tool.Result, error) {
	call.Stdout([]byte("at first this"))
	if h.run.held.CompareAndSwap(false, true) {
		close(h.run.holds)
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	}
	call.Stdout([]byte(", and then that\n"))
	return tool.Text("gave in"), nil
}

func (h *deployment) hail(ctx context.Context, call *tool.Call, _ struct{}) (tool.Result, error) {
	h.run.started.Wait()
	call.Stdout([]byte("hey\n"))
	_, err := h.engine.Signal(ctx, "default", h.run.id, engine.SignalRequest{
		Name: perdure.UserMessage, Value: json.RawMessage(`{"text":"and that, too"}`), ID: "hail",
	})
	return tool.Text("heard"), err
}

// begin starts the run. One tool of the run waits until the worker stops. When the tool waits,
// begin replaces the worker, and then closes the channel `done`.
func (h *deployment) begin() (id uuid.UUID, done <-chan struct{}) {
	h.t.Helper()
	body, err := json.Marshal(map[string]any{
		"userPrompt": "begin", "oneShot": true, "models": []any{map[string]string{"provider": "scripted", "modelId": "s"}},
		"tools": []string{"noise", "alone", "broken", "stubborn", "hail"},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.address()+"/api/orgs/default/agent-executions", bytes.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.key)
	req.Header.Set("Content-Type", "application/json")
	res, err := h.client.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer res.Body.Close() //nolint:errcheck // it was read to its end
	var x perdure.Execution
	if err := json.NewDecoder(res.Body).Decode(&x); err != nil || res.StatusCode != http.StatusCreated {
		h.t.Fatalf("the start gave %s: %v", res.Status, err)
	}
	h.run.id = x.ID
	h.run.started.Done()
	over := make(chan struct{})
	go func() {
		defer close(over)
		select {
		case <-h.run.holds:
			h.replaceWorker()
		case <-h.t.Context().Done():
		}
	}()
	return x.ID, over
}
