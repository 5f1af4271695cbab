package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// shown returns what a view prints for a log. Each line of the parameter `log` has the type and the
// data of one event. The events are a second apart.
func shown(t *testing.T, log string) string {
	t.Helper()
	return shownOf(t, "", log)
}

// shownOf is like shown, for a run of the given kind. If `kind` is not empty, the view also shows
// signals.
func shownOf(t *testing.T, kind, log string) string {
	t.Helper()
	var out bytes.Buffer
	v := NewTextView(Streams{Stdout: NewScreen(&out)}, "")
	v.agent.kind, v.ShowSignals = kind, kind != ""
	i := 0
	for line := range strings.Lines(log) {
		name, data, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		var members map[string]any
		if err := json.Unmarshal([]byte(data), &members); err != nil {
			t.Fatal(line, err)
		}
		members["createdAt"] = fmt.Sprintf("2026-01-01T00:00:%02d.000Z", i)
		i++
		raw, err := json.Marshal(members)
		if err != nil {
			t.Fatal(line, err)
		}
		if err := v.Event(client.Event{Type: perdure.EventType(name), Data: raw}); err != nil {
			t.Fatal(line, err)
		}
	}
	return out.String()
}

func wantShown(t *testing.T, log, want string) {
	t.Helper()
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), shown(t, log)); diff != "" {
		t.Error(diff)
	}
}

const twoCalls = `entry.appended {"role":"assistant","entryType":"message","content":{"parts":[` +
	`{"type":"toolCall","id":"a","name":"bash","rawArguments":"{\"command\":\"one\"}"},` +
	`{"type":"toolCall","id":"b","name":"bash","rawArguments":"{\"command\":\"two\"}"}]}}
	task.started {"kind":"bash","toolCallId":"a"}
	task.started {"kind":"bash","toolCallId":"b"}
	`

// TestParallelToolsKeepTheirLines checks that no line has output of two concurrent tool calls, and that the
// line about a call's end names the call.
func TestParallelToolsKeepTheirLines(t *testing.T) {
	wantShown(t, twoCalls+`
	terminal {"toolCallId":"b","stream":"stdout","data":"b1\n"}
	terminal {"toolCallId":"a","stream":"stdout","data":"a1\n"}
	terminal {"toolCallId":"b","stream":"stdout","data":"b2\n"}
	task.completed {"kind":"bash","toolCallId":"a"}
	terminal {"toolCallId":"b","stream":"stdout","data":"b3\n"}
	task.completed {"kind":"bash","toolCallId":"b"}
	data {"data":{"type":"tool_call_end","tool_call":{"id":"a","name":"bash"},"result":{"text":"a1\n[exit code 0]"}}}
	data {"data":{"type":"tool_call_end","tool_call":{"id":"b","name":"bash"},"result":{"isError":true,"text":"b1\n[exit code 2]"}}}`, `
● bash one
  │ a1
● bash two
  │ b1
  │ b2
  │ b3
  ✓ bash one · 5.0 s
  ✗ exit code 2 · 6.0 s
`)
}

// TestToolThatEndsBeforeAnEarlierOne checks that all output of a tool call is shown if the call ends while
// an earlier call is still running.
func TestToolThatEndsBeforeAnEarlierOne(t *testing.T) {
	wantShown(t, twoCalls+`
	terminal {"toolCallId":"b","stream":"stdout","data":"b1\n"}
	task.completed {"kind":"bash","toolCallId":"b"}
	terminal {"toolCallId":"a","stream":"stdout","data":"a1\n"}
	task.interrupted {"kind":"bash","toolCallId":"a"}
	data {"data":{"type":"tool_call_end","tool_call":{"id":"a","name":"bash"},"result":{"isError":true,"text":"interrupted"}}}
	data {"data":{"type":"tool_call_end","tool_call":{"id":"b","name":"bash"},"result":{"text":"b1\n[exit code 0]"}}}`, `
● bash one
● bash two
  │ b1
● bash one
  │ a1
  ✗ interrupted: it was cut off, and may have taken effect · 5.0 s
  ✓ bash two · 2.0 s
`)
}

// TestRetriedAnswer checks that the view marks the output of a failed attempt as void. It shows thinking
// and text in separate sections.
func TestRetriedAnswer(t *testing.T) {
	const task = `"taskExecutionId":"01a1fc84-46e5-7b0a-a4e9-4a14f3bc5720"`
	wantShown(t, `
	thinking {"seq":1,"offset":0,"data":"hm\nhm",`+task+`}
	token {"seq":2,"offset":0,"data":"Half an",`+task+`}
	block.closed {"seq":3,"blockSeq":1,"reason":"done",`+task+`}
	block.closed {"seq":4,"blockSeq":1,"reason":"superseded",`+task+`}
	block.closed {"seq":5,"blockSeq":2,"reason":"superseded",`+task+`}
	task.retrying {"kind":"llm-request","code":"model_overloaded","error":"model_overloaded: x: too busy","notBefore":"2026-01-01T00:00:07.000Z",`+task+`}
	token {"seq":7,"offset":0,"data":"Whole",`+task+`}
	token {"seq":7,"offset":5,"data":" answer.\n",`+task+`}
	block.closed {"seq":8,"blockSeq":7,"reason":"done",`+task+`}
	error {"message":"model_auth: x: no key","code":"model_auth"}`, `
┊ hm
┊ hm

Half an

what was said above does not count
trying again in 2.0 s: x: too busy

Whole answer.

error: x: no key
`)
}

// TestRetryWithoutOutputMarksNothing checks which superseded text the view marks as void. Text of
// which nothing was shown is not marked, and neither is text of a task that has ended. Text of the
// agent itself is marked.
func TestRetryWithoutOutputMarksNothing(t *testing.T) {
	const task = `"taskExecutionId":"01a1fc84-46e5-7b0a-a4e9-4a14f3bc5720"`
	wantShown(t, `
	data {"seq":1,"offset":0,"data":{"type":"tool_call_delta","delta":"{","tool_call":{"id":"a"}},`+task+`}
	block.closed {"seq":2,"blockSeq":1,"reason":"superseded",`+task+`}
	task.retrying {"kind":"llm-request","reason":"lost",`+task+`}
	token {"seq":4,"offset":0,"data":"Kept.\n",`+task+`}
	block.closed {"seq":5,"blockSeq":4,"reason":"done",`+task+`}
	task.failed {"kind":"llm-request",`+task+`}
	token {"seq":7,"offset":0,"data":"The agent's own"}
	block.closed {"seq":8,"blockSeq":7,"reason":"superseded"}`, `
trying again: its worker is gone

Kept.
The agent's own

what was said above does not count
`)
}

// TestSnapshotOverlaps checks that only the new text is shown if a snapshot of a block repeats text that
// was already shown.
func TestSnapshotOverlaps(t *testing.T) {
	wantShown(t, `
	token {"seq":2,"offset":0,"data":"Hello, "}
	snapshot {"seq":2,"offset":0,"type":"token","snapshot":true,"data":"Hello, world"}
	token {"seq":2,"offset":7,"data":"world"}
	token {"seq":2,"offset":12,"data":"!"}
	agent.cancelling {"status":"CANCELLING"}`, `
Hello, world!

cancelling
`)
}
