package react

import (
	"encoding/json"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/llm"
)

// replayAnswer streams a stored answer of a model, with one delta for each part. It is the Replay
// function of the model task. If the input or the result cannot be decoded, it streams nothing and
// returns an error.
func replayAnswer(ctx agent.TaskContext, result json.RawMessage) error {
	var in modelRequest
	var answer modelAnswer
	if err := json.Unmarshal(ctx.Task().Input, &in); err != nil {
		return err
	}
	if err := json.Unmarshal(result, &answer); err != nil {
		return err
	}
	if in.Compaction != nil || in.Generate != nil && in.Generate.Silent || in.Run != nil && in.Run.Silent {
		return nil
	}
	show := newAnswerStream(ctx.Stream(), in.EntryID)
	for i, part := range answer.Content.Parts {
		for _, d := range deltasOf(i, part) {
			_ = show.delta(d) // delta never returns an error
		}
	}
	return nil
}

// deltasOf returns the deltas that add up to the part p: one for each kind of content in p.
func deltasOf(index int, p perdure.Part) []llm.Delta {
	switch p.Type {
	case perdure.PartText:
		return []llm.Delta{{Kind: llm.DeltaText, Part: index, Text: p.Text}}
	case perdure.PartThinking:
		return []llm.Delta{{Kind: llm.DeltaThinking, Part: index, Text: p.Thinking}}
	case perdure.PartToolCall:
		return []llm.Delta{
			{Kind: llm.DeltaToolStart, Part: index, ToolName: p.Name},
			{Kind: llm.DeltaToolArguments, Part: index, Text: p.RawArguments},
			{Kind: llm.DeltaToolEnd, Part: index},
		}
	}
	return nil
}
