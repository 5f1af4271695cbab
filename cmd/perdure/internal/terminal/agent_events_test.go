package terminal

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

const workOfAnAgent = `
	agent.created {"kind":"order","status":"PENDING"}
	task.scheduled {"kind":"reserve","taskExecutionId":"01a1fc84-46e5-7b0a-a4e9-4a14f3bc5720","attempt":1}
	task.started {"kind":"reserve","taskExecutionId":"01a1fc84-46e5-7b0a-a4e9-4a14f3bc5720","attempt":1}
	agent.waiting {"reason":"task","wait":{"task":"01a1fc84-46e5-7b0a-a4e9-4a14f3bc5720"}}
	task.retrying {"kind":"reserve","error":"x: busy","notBefore":"2026-01-01T00:00:05.000Z","taskExecutionId":"01a1fc84-46e5-7b0a-a4e9-4a14f3bc5720","attempt":1}
	task.started {"kind":"reserve","taskExecutionId":"01a1fc84-46e5-7b0a-a4e9-4a14f3bc5720","attempt":2}
	task.failed {"kind":"reserve","error":"task_failed: no\u001b[2J goods","taskExecutionId":"01a1fc84-46e5-7b0a-a4e9-4a14f3bc5720","attempt":2}
	question.asked {"questionId":"02a1fc84-46e5-7b0a-a4e9-4a14f3bc5720","kind":"input","subject":"card","prompt":"Which?"}
	agent.waiting {"reason":"question","wait":{"any":[{"question":"02a1fc84-46e5-7b0a-a4e9-4a14f3bc5720"},{"signal":"shipped"},{"task":"01a1fc84-46e5-7b0a-a4e9-4a14f3bc5720"}]}}
	signal.received {"signalId":"1","signalName":"shipped","signalValue":{"carrier": "DHL\u202e", "boxes": 1}}
	signal.received {"signalId":"2","signalName":"userMessage","signalValue":null}
	signal.received {"signalId":"3","signalName":"large"}
`

// TestTheWorkOfAnyAgentIsShown checks that the events of an agent of any kind are shown in their order.
func TestTheWorkOfAnyAgentIsShown(t *testing.T) {
	const want = `task reserve · started

trying again in 1.0 s: x: busy

task reserve · started · attempt 2
task reserve · failed · attempt 2 · 1.0 s · no goods

? card: Which?
  question 02a1fc84-46e5-7b0a-a4e9-4a14f3bc5720

waits for an answer to card: Which? or the signal shipped or the task reserve
signal shipped · {"boxes":1,"carrier":"DHL\u202e"}
signal userMessage
signal large · (too large to be shown here; perdure show has it)
`
	if diff := cmp.Diff(want, shownOf(t, "order", workOfAnAgent)); diff != "" {
		t.Error(diff)
	}
}

// TestAnswersAreShownWithTheirValue checks that the answer to a question is shown with the
// beginning of its value. The exceptions are a value that only a worker has, and a value that is
// too large for the log.
func TestAnswersAreShownWithTheirValue(t *testing.T) {
	const begin = `question.asked {"questionId":"02a1fc84-46e5-7b0a-a4e9-4a14f3bc5720","kind":"input","subject":"card","prompt":"Which one?"}
	`
	long := strings.Repeat("x", 5000)
	for event, want := range map[string]string{
		`question.answered {"questionId":"02a1fc84-46e5-7b0a-a4e9-4a14f3bc5720","status":"answered","verdict":"answer","value":{"a": 1},"by":"ann"}`:       `? card: Which one? · answered {"a":1} by ann`,
		`question.answered {"questionId":"02a1fc84-46e5-7b0a-a4e9-4a14f3bc5720","status":"answered","verdict":"answer","value":"` + long + `","by":"ann"}`: `xx… (4.9 KiB) by ann`,
		`question.answered {"questionId":"02a1fc84-46e5-7b0a-a4e9-4a14f3bc5720","status":"answered","verdict":"answer","by":"ann"}`:                        `answered (too large to be shown here; perdure show has it) by ann`,
		`question.answered {"questionId":"02a1fc84-46e5-7b0a-a4e9-4a14f3bc5720","status":"answered","verdict":"approve","by":"ann","reason":"ok"}`:         `? card: Which one? · approved by ann (ok)`,
		`question.voted {"questionId":"02a1fc84-46e5-7b0a-a4e9-4a14f3bc5720","verdict":"approve","by":"ann","votes":1,"needed":2}`:                         `? card: Which one? · approve by ann, 1 of 2 votes`,
		`question.expired {"questionId":"02a1fc84-46e5-7b0a-a4e9-4a14f3bc5720","status":"expired"}`:                                                        `? card: Which one? · expired`,
	} {
		if got := shownOf(t, "order", begin+event); !strings.HasSuffix(got, want+"\n") || len(got) > 700 {
			t.Errorf("%.200s is shown as %s, want %s", event, got, want)
		}
	}
	v := NewTextView(Streams{Stdout: NewScreen(&strings.Builder{})}, "")
	v.Started(&perdure.Execution{Kind: "order", PersistenceMode: perdure.Local})
	if got := v.answerValue("answer", nil); got != "(its value is on the worker)" {
		t.Errorf("the value of a LOCAL run is shown as %q", got)
	}
}

// TestSignalsOfAReactAgentAreShown checks that a view with the option ShowSignals shows the signals that
// a react agent receives, except user messages. The view shows user messages as entries.
func TestSignalsOfAReactAgentAreShown(t *testing.T) {
	got := shownOf(t, perdure.ReactKind, workOfAnAgent+`	signal.received {"signalId":"4","signalName":"model","signalValue":"`+strings.Repeat("é", 300)+`"}`)
	_, got, _ = strings.Cut(got, "signal shipped")
	want := ` · {"boxes":1,"carrier":"DHL\u202e"}
signal large · (too large to be shown here; perdure show has it)
signal model · "` + strings.Repeat("é", 199) + `… (602 B)
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestQuestionsThatAreAskedInPlaceAreNotAnnounced checks that the view shows no event of a question
// that the command itself will ask.
func TestQuestionsThatAreAskedInPlaceAreNotAnnounced(t *testing.T) {
	for kind, want := range map[string]string{perdure.ReactKind: "", "order": "? May bash run?\n  question 02a1fc84-46e5-7b0a-a4e9-4a14f3bc5720\n"} {
		var out bytes.Buffer
		v := NewTextView(Streams{Stdout: NewScreen(&out)}, "")
		v.agent.kind, v.AsksInPlace = kind, true
		e := client.Event{Type: perdure.EventQuestionAsked, Data: json.RawMessage(`{"questionId":"02a1fc84-46e5-7b0a-a4e9-4a14f3bc5720","kind":"approval","subject":"bash"}`)}
		if err := v.Event(e); err != nil || out.String() != want {
			t.Errorf("of a run of the kind %s %q is shown, %v", kind, out.String(), err)
		}
	}
}
