package react

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/llm"
	"pgregory.net/rapid"
)

// recordedStream records what a task streams: the events, and the text for each kind of text and
// each tool call.
type recordedStream struct {
	agent.Stream
	texts  map[string]string
	events []string
}

func recordStream() *recordedStream { return &recordedStream{texts: map[string]string{}} }

func (s *recordedStream) Text(text string)              { s.texts["text"] += text }
func (s *recordedStream) Thinking(text string)          { s.texts["thinking"] += text }
func (s *recordedStream) ToolArguments(id, text string) { s.texts[id] += text }
func (s *recordedStream) Break()                        {}
func (s *recordedStream) Data(v any)                    { s.events = append(s.events, fmt.Sprint(v)) }

// replayContext is the context in which a stored answer is replayed.
type replayContext struct {
	agent.TaskContext
	task   *perdure.Task
	screen *recordedStream
}

func (r replayContext) Task() *perdure.Task  { return r.task }
func (r replayContext) Stream() agent.Stream { return r.screen }

// TestAReplayedAnswerShowsTheSame checks with random answers that replayAnswer streams the same
// texts and events as the original call.
func TestAReplayedAnswerShowsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		deltas := drawDeltas(t)
		entry := uuid.New()
		live := recordStream()
		show := newAnswerStream(live, entry)
		for _, d := range deltas {
			if err := show.delta(d); err != nil {
				t.Fatal(err)
			}
		}
		parts := llm.Fold(deltas)
		nameCalls(parts, entry)
		ctx := replayContext{task: &perdure.Task{Input: encoded(t, modelRequest{EntryID: entry})}, screen: recordStream()}
		if err := replayAnswer(ctx, encoded(t, modelAnswer{Content: perdure.Content{Parts: parts}})); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(live.texts, ctx.screen.texts); diff != "" {
			t.Errorf("texts (-live +replayed):\n%s", diff)
		}
		if diff := cmp.Diff(live.events, ctx.screen.events); diff != "" {
			t.Errorf("events (-live +replayed):\n%s", diff)
		}
	})
}

// TestAnUnreadableAnswerShowsNothing checks that replayAnswer returns an error, and streams
// nothing, if the stored answer has an unknown format.
func TestAnUnreadableAnswerShowsNothing(t *testing.T) {
	ctx := replayContext{task: &perdure.Task{Input: encoded(t, modelRequest{EntryID: uuid.New()})}, screen: recordStream()}
	if err := replayAnswer(ctx, json.RawMessage(`{"content": 7}`)); err == nil {
		t.Error("the answer was taken")
	}
	if len(ctx.screen.texts)+len(ctx.screen.events) > 0 {
		t.Errorf("shown: %v %v", ctx.screen.texts, ctx.screen.events)
	}
}

func encoded(t interface{ Fatal(...any) }, v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// drawDeltas returns the deltas of a random answer, part after part.
func drawDeltas(t *rapid.T) (all []llm.Delta) {
	for part := range rapid.IntRange(0, 5).Draw(t, "parts") {
		kind := rapid.SampledFrom([]llm.DeltaKind{llm.DeltaText, llm.DeltaThinking, llm.DeltaToolArguments}).Draw(t, "kind")
		call := kind == llm.DeltaToolArguments
		if call {
			all = append(all, llm.Delta{Kind: llm.DeltaToolStart, Part: part, ToolName: "bash"})
		}
		for _, text := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "\u00e9\n", "{\"x\":", "1}"}), 1, 4).Draw(t, "pieces") {
			all = append(all, llm.Delta{Kind: kind, Part: part, Text: text})
		}
		if call {
			all = append(all, llm.Delta{Kind: llm.DeltaToolEnd, Part: part, ToolName: "bash"})
		}
	}
	return all
}
