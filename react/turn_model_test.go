package react_test

import (
	"context"
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/tool"
)

// turnModel is a model whose answer depends only on the number of the turn. The runStore counts its
// calls by turn.
type turnModel struct{ w *runStore }

func (turnModel) Name() string { return "oracle" }

func (o turnModel) Stream(_ context.Context, r llm.Request, emit func(llm.Delta) error) (*llm.Response, error) {
	turn := 0
	for _, m := range r.Messages {
		if m.Role == perdure.RoleAssistant {
			turn++
		}
	}
	o.w.mu.Lock()
	o.w.asked[turn]++
	o.w.mu.Unlock()
	text := fmt.Sprintf("turn %d", turn)
	if err := emit(llm.Delta{Kind: llm.DeltaText, Text: text}); err != nil {
		return nil, err
	}
	response := &llm.Response{Content: perdure.Content{
		Parts: []perdure.Part{perdure.Text(text)}, Provider: "oracle", Model: "o",
		Usage: &perdure.Usage{Input: int64(turn), Output: 1, Calls: 1}, StopReason: perdure.StopEndTurn,
	}}
	for _, c := range callsOf(turn) {
		response.StopReason = perdure.StopToolUse
		response.Parts = append(response.Parts, perdure.Part{
			Type: perdure.PartToolCall, Name: c.tool, RawArguments: fmt.Sprintf(`{"label":%q}`, c.label),
		})
	}
	return response, nil
}

// labelledCall is a tool call of the script. No other call has the same label.
type labelledCall struct{ tool, label string }

// callsOf returns the tool calls of a turn. A turn has one call, several parallel calls, or calls
// with a barrier between them. The last turn has none.
func callsOf(turn int) []labelledCall {
	var calls []labelledCall
	if turn == turns-1 {
		return nil
	}
	for i, name := range [][]string{{"look", "act"}, {"act", "act", "look"}, {"look", "alone", "look"}, {"look"}}[turn%4] {
		calls = append(calls, labelledCall{name, fmt.Sprintf("%d-%d", turn, i)})
	}
	return calls
}

// tools returns a tool whose interrupted calls may run again, and two tools whose calls must not.
// The tools count their runs by label.
func (w *runStore) tools() []tool.Tool {
	type in struct {
		Label string `json:"label"`
	}
	run := func(_ context.Context, call *tool.Call, in in) (tool.Result, error) {
		w.mu.Lock()
		w.starts[in.Label]++
		w.mu.Unlock()
		call.Stdout([]byte("at " + in.Label))
		return tool.Text("done " + in.Label), nil
	}
	return []tool.Tool{
		tool.New("look", "Looks.", run, tool.WithOnLost(perdure.OnLostRetry)),
		tool.New("act", "Acts.", run),
		tool.New("alone", "Acts alone.", run, tool.WithBarrier()),
	}
}
