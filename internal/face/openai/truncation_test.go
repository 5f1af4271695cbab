package openai_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/llm"
)

// tooLong returns an answer of a model with a small context window. For a conversation that was not
// compacted, the answer is the error that the conversation is too long. Otherwise the model gives
// the answer `then`.
func tooLong(then answer) answer {
	return func(ctx context.Context, req llm.Request, b *llm.Builder) (perdure.StopReason, error) {
		compacted := slices.ContainsFunc(req.Messages, func(m perdure.Message) bool { return m.Parts[0].Type == perdure.PartCompaction })
		if req.Purpose != llm.PurposeCompaction && !compacted {
			return "", &llm.Error{Kind: llm.ContextLength, Provider: "test", Message: "prompt is too long"}
		}
		return then(ctx, req, b)
	}
}

// quiet creates an agent definition whose automatic compaction is off.
func (s *stage) quiet() {
	s.t.Helper()
	off := true
	_, err := s.engine.Definitions.Create(s.t.Context(), "default", perdure.Definition{
		Name: "Quiet", Slug: "quiet", Models: []perdure.ModelConfig{{Provider: "test", ModelID: "m"}}, Tools: []string{},
		Config: perdure.AgentConfig{Compaction: &perdure.CompactionConfig{Off: &off}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestTruncationIsWhatApplies checks the member truncation of the response object. It says whether
// automatic compaction is on. The parameter truncation of the create request decides this. If the
// request has no such parameter, the settings of the agent decide.
func TestTruncationIsWhatApplies(t *testing.T) {
	s := newStage(t)
	s.quiet()
	for members, want := range map[string]string{
		`"model":"test/m"`: "auto", `"model":"test/m","truncation":"auto"`: "auto", `"model":"test/m","truncation":"disabled"`: "disabled",
		`"model":"quiet"`: "disabled", `"model":"quiet","truncation":"auto"`: "auto", `"model":"quiet","truncation":null`: "disabled",
	} {
		o := s.call("POST", "/v1/responses", `{`+members+`,"input":"a"}`).object()
		for _, raw := range [][]byte{o.raw, s.call("GET", "/v1/responses/"+o.ID, "").body} {
			if got := at(value(t, raw), "truncation"); got != want {
				t.Errorf("%s is shown as %v, want %s", members, got, want)
			}
		}
	}
}

// TestAConversationThatIsTooLong checks a conversation that is too long. If the parameter
// truncation is "auto" or missing, the conversation is compacted, and the usage includes the call
// for the summary. If the parameter is "disabled", the response fails, and the model is not called
// for a summary.
func TestAConversationThatIsTooLong(t *testing.T) {
	longtest.Skip(t, "seconds")
	for truncation, fails := range map[string]bool{``: false, `"truncation":"auto",`: false, `"truncation":"disabled",`: true} {
		s := newStage(t, says(strings.Repeat("word ", 500)), tooLong(summarises("S.", says("two"))))
		a := s.create(`"input":"a"`).object()
		all := s.all("POST", "/v1/responses", `{"model":"test/m","stream":true,`+truncation+after(a.ID)+`"input":"b"}`)
		last := all[len(all)-1]
		o := responseOf(t, last)
		if !fails {
			if o.Status != "completed" || s.summaries() != 1 || o.Usage.In != 24 || o.Usage.Out != 10 {
				t.Errorf("%s%d summaries; got %s", truncation, s.summaries(), o.raw)
			}
			continue
		}
		if last.Type != "response.failed" || o.Error == nil || o.Error.Code != "context_length_exceeded" || o.Incomplete != nil || s.summaries() != 0 {
			t.Errorf("%d summaries; got %s", s.summaries(), last.Raw)
		}
		// The conversation can be continued with "auto".
		if o = s.create(after(o.ID) + `"truncation":"auto","input":"c"`).object(); o.Status != "completed" || s.summaries() != 1 {
			t.Errorf("%d summaries; got %s", s.summaries(), o.raw)
		}
	}
}

// TestAnAnswerThatFillsTheWindow checks that an answer that fills the model's context window becomes
// an incomplete response.
func TestAnAnswerThatFillsTheWindow(t *testing.T) {
	s := newStage(t, stops(says("one"), perdure.StopContextLength))
	o := s.create(`"input":"a"`).object()
	if o.Status != "incomplete" || o.Incomplete == nil || o.Incomplete.Reason != "max_output_tokens" || o.text() != "one" || o.Error != nil {
		t.Errorf("got %s", o.raw)
	}
}
