package react

import (
	"encoding/json"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/llm"
)

// replayAnswer streams a stored answer of a model. It is the Replay function of the model task.
// Each part becomes one delta. It returns an error, and streams nothing, if the input or the result
// does not decode.
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

// deltasOf returns the deltas that form the part with this index, one of each kind.
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
