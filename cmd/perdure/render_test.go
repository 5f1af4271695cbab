package main

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

// shown returns the output of a view for a log. Each line of the log is the type and the data of an
// event. The events are a second apart.
func shown(t *testing.T, log string) string {
	t.Helper()
	var out bytes.Buffer
	v := newTextView(&app{stdout: newScreen(&out)})
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
		if err := v.event(client.Event{Type: perdure.EventType(name), Data: rawOf(members)}); err != nil {
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

// The output of concurrent calls is never mixed, and the end of each call names the call.
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

// A call that ends before the live call still shows all its output.
func TestToolThatOvertakes(t *testing.T) {
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

// The output of a failed attempt is marked as void. Thinking and text are separated.
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

// An attempt without output marks nothing as void. Neither does an attempt whose text is in an
// entry.
func TestRetryWithoutWords(t *testing.T) {
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

// Of a snapshot, only the part that was not shown is shown.
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

// Output of a model or a tool cannot control the terminal, however it is split.
func TestPlainLeavesNoControl(t *testing.T) {
	const wild = "a\x1b[1;31mred\x1b[0m \x1b]0;title\x07b\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x1b(B\x00\x08c\u009b2Jd\r\n50%\r100%\ttab ü\n"
	const want = "ared blink cd\n50%\n100%\ttab ü\n"
	runes := []rune(wild)
	for at := range runes {
		var p plain
		if got := p.clean(string(runes[:at])) + p.clean(string(runes[at:])); got != want {
			t.Fatalf("cut at %d: %q, want %q", at, got, want)
		}
	}
}

func TestSummarise(t *testing.T) {
	for raw, want := range map[string]string{
		`{"command":"go test ./...\ngo vet"}`: "go test ./... ⏎ go vet",
		`{"pattern":"x y","path":"src"}`:      "x y src",
		`{"path":"a.go","oldString":"x"}`:     "a.go",
		`{"odd":1}`:                           `{"odd":1}`,
		`{}`:                                  "",
		`not json`:                            "not json",
		`{"command":"` + strings.Repeat("é", 200) + `"}`: strings.Repeat("é", maxTitle-1) + "…",
	} {
		if got := summarise(perdure.Part{RawArguments: raw}); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}

func TestNumbersForPeople(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := grouped(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
	cost := 0.01234
	u := perdure.Usage{Input: 1200, Output: 5, CacheRead: 7, Calls: 1, Cost: &cost}
	if got, want := usageText(u), "1 call · in 1,200 · out 5 · cache read 7 · $0.0123"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	both := map[string]perdure.Usage{"a/x": u, "a/y": {Calls: 1}}
	if got := totalText(u, both); !strings.HasSuffix(got, " · >= $0.0123") {
		t.Errorf("with a model without a price: %s", got)
	}
	both["a/y"] = perdure.Usage{Calls: 1, Cost: &cost}
	if got := totalText(u, both); !strings.HasSuffix(got, " · $0.0123") {
		t.Errorf("with prices for all models: %s", got)
	}
	u.Cost = nil
	if got := totalText(u, map[string]perdure.Usage{"a/x": u, "a/y": u}); !strings.HasSuffix(got, " · cost unknown") {
		t.Errorf("without prices: %s", got)
	}
	if got := usageText(u); !strings.HasSuffix(got, "cost unknown") {
		t.Error(got)
	}
}

func TestShellWord(t *testing.T) {
	for word, want := range map[string]string{"/a-b/c.d": "/a-b/c.d", "a b": "'a b'", "it's $HOME": `'it'\''s $HOME'`} {
		if got := shellWord(word); got != want {
			t.Errorf("%s: %s", word, got)
		}
	}
}
