package react_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/llm"
)

// randomModel is a model that answers differently at each call. The ids of its tool calls are
// placeholders or repeated values. During some calls it also sends a user message to the run.
type randomModel struct {
	w     *runStore
	seed  uint64
	turns int

	// The fields below are set before the first model call.
	run    uuid.UUID
	server *engine.Engine
	begun  chan struct{}
}

func (*randomModel) Name() string { return "oracle" }

// begin sets the execution and the engine, and lets the model calls continue.
func (t *randomModel) begin(id uuid.UUID, e *engine.Engine) {
	t.run, t.server = id, e
	close(t.begun)
}

const fakeID = "__fake_id__"

// randomAnswer is an answer that the random model is streaming.
type randomAnswer struct {
	*rand.Rand
	builder *llm.Builder
}

func (t *randomModel) Stream(ctx context.Context, r llm.Request, emit func(llm.Delta) error) (*llm.Response, error) {
	<-t.begun
	turn := 0
	for _, m := range r.Messages {
		if m.Role == perdure.RoleAssistant {
			turn++
		}
	}
	t.w.mu.Lock()
	t.w.asked[turn]++
	asked := t.w.asked[turn]
	t.w.mu.Unlock()
	g := randomAnswer{rand.New(rand.NewPCG(t.seed, uint64(turn*100+asked))), llm.NewBuilder(emit)}
	calls := 0
	if turn < t.turns-1 {
		calls = g.IntN(4)
		if calls == 0 || g.IntN(4) == 0 {
			if err := t.say(ctx, fmt.Sprint("while turn ", turn)); err != nil {
				return nil, err
			}
		}
	}
	if err := g.tell(turn, calls); err != nil {
		return nil, err
	}
	stop := perdure.StopEndTurn
	if calls > 0 {
		stop = perdure.StopToolUse
	}
	response, err := g.builder.Finish(llm.Model{Provider: "oracle", ID: "o"}, stop, perdure.Usage{Input: 1, Output: 1}, nil)
	if err == nil {
		response.ProviderResponseID = []string{fakeID, "", "chatcmpl-1"}[g.IntN(3)]
	}
	return response, err
}

// say sends a message of the user. A second call with the same text has no effect.
func (t *randomModel) say(ctx context.Context, text string) error {
	_, err := t.server.Signal(ctx, t.w.org, t.run, engine.SignalRequest{
		Name: perdure.UserMessage, ID: text, Value: []byte(fmt.Sprintf(`{"text":%q}`, text)),
	})
	return err
}

// tell streams an answer in small pieces. The pieces of the arguments of several tool calls are
// interleaved.
func (g randomAnswer) tell(turn, calls int) error {
	for range g.IntN(3) {
		if err := g.pieces(g.builder.Thinking); err != nil {
			return err
		}
		if g.IntN(2) == 0 {
			g.builder.Sign("sig")
		}
		g.builder.Break()
	}
	for range 1 + g.IntN(2) {
		if err := g.pieces(g.builder.Text); err != nil {
			return err
		}
		g.builder.Break()
	}
	return g.call(turn, calls)
}

func (g randomAnswer) pieces(show func(string) error) error {
	for range 1 + g.IntN(4) {
		if err := show(fmt.Sprintf("%x é ", g.IntN(1000))); err != nil {
			return err
		}
	}
	return nil
}

func (g randomAnswer) call(turn, calls int) error {
	var parts []int
	var left []string
	for n := range calls {
		name := []string{"look", "act", "alone"}[g.IntN(3)]
		part, err := g.builder.StartTool(name, []string{fakeID, "call_0", ""}[g.IntN(3)])
		if err != nil {
			return err
		}
		parts, left = append(parts, part), append(left, fmt.Sprintf(`{"label":"%d-%d"}`, turn, n))
	}
	for open := calls; open > 0; {
		i := g.IntN(calls)
		if left[i] == "" {
			continue
		}
		n := 1 + g.IntN(len(left[i]))
		if err := g.builder.ToolArguments(parts[i], left[i][:n]); err != nil {
			return err
		}
		if left[i] = left[i][n:]; left[i] == "" {
			open--
		}
	}
	for _, part := range parts {
		if err := g.builder.EndTool(part); err != nil {
			return err
		}
	}
	return nil
}
