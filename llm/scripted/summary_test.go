package scripted_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/llmtest"
)

func summaryOf(t *testing.T, p llm.Provider, path ...perdure.Message) perdure.Message {
	t.Helper()
	req := request(path...)
	req.Purpose = llm.PurposeCompaction
	resp, _ := llmtest.Ask(t, p, req)
	return perdure.Message{Role: perdure.RoleUser, Content: perdure.Content{Parts: []perdure.Part{perdure.Compaction(resp.PlainText())}}}
}

// TestASummaryKeepsThePlaceInTheScript checks that a conversation that begins with a summary gets
// the turn after the summarized turns, also after a second summary. The word "expect" must find
// perdure.SummaryPrefix, because a summary is searched in the form in which models read it.
func TestASummaryKeepsThePlaceInTheScript(t *testing.T) {
	for name, section := range map[string]string{"its own": "summary\n  text goal: x\n  usage in=9 out=3\n", "the default": ""} {
		t.Run(name, func(t *testing.T) {
			p := write(t, "turn\n text one\nturn\n text two\n"+section+"turn\n expect Summary of the conversation so far:\n text three\nturn\n text four\n")
			said := func(path ...perdure.Message) string {
				resp, _ := llmtest.Ask(t, p, request(path...))
				return resp.PlainText()
			}
			answer := perdure.Message{Role: perdure.RoleAssistant, Content: perdure.Content{Parts: []perdure.Part{perdure.Text("x")}}}
			hi := perdure.UserText("hi")
			first := summaryOf(t, p, hi, answer, hi, answer, hi)
			if text := first.PlainText(); !strings.HasSuffix(text, "\n(2 answers before)") || strings.HasPrefix(text, "goal: x") != (section != "") {
				t.Errorf("the summary is %q", text)
			}
			if got := said(first); got != "three" {
				t.Errorf("after the summary it says %q", got)
			}
			if got := said(first, hi, answer, hi); got != "four" {
				t.Errorf("after another answer it says %q", got)
			}
			if got := said(summaryOf(t, p, first, answer, hi)); got != "four" {
				t.Errorf("after the second summary it says %q", got)
			}
		})
	}
}

// TestASummaryCanFail checks that the section "summary" can contain a failure. A script in which
// this section is empty or occurs twice is refused.
func TestASummaryCanFail(t *testing.T) {
	req := request(perdure.UserText("hi"))
	req.Purpose = llm.PurposeCompaction
	_, _, err := llmtest.TryAsk(t.Context(), write(t, "summary\n fail context_length too long\nturn\n text x"), req)
	_ = llmtest.WantError(t, err, llm.ContextLength, false)
	for _, c := range []struct{ script, want string }{
		{"turn\ntext x\nsummary\nturn\ntext y", "says nothing"},
		{"summary\ntext x\nsummary\ntext y\nturn\ntext z", "there is a summary already"},
		{"summary\ntext x", "there is no turn"},
		{"summary\nwhen magic\ntext x\nturn\ntext y", "no alternative"},
	} {
		_, _, err := llmtest.TryAsk(t.Context(), write(t, c.script), req)
		var failed *llm.Error
		if !errors.As(err, &failed) || !strings.Contains(failed.Message, c.want) {
			t.Errorf("%q: %v", c.script, err)
		}
	}
}
