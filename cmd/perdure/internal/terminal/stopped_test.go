package terminal

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

const stoppedCall = `entry.appended {"role":"assistant","entryType":"message","content":{"parts":[{"type":"toolCall","id":"a","name":"bash","rawArguments":"{\"command\":\"one\"}"}]}}
	task.started {"kind":"bash","toolCallId":"a"}
	signal.received {"signalId":"1","signalName":"perdure.interrupt","signalValue":{"reason":"too\u001b[2J long"}}
	task.cancelled {"kind":"bash","toolCallId":"a"}
	data {"toolCallId":"a","data":{"type":"tool_call_end","tool_call":{"id":"a","name":"bash"},"result":{"isError":true,"text":"stopped by the user"}}}
`

// TestAStoppedTurnIsShownOnce checks that a turn that a person stops has one line that says so, and
// that each cancelled call has one line for its end.
func TestAStoppedTurnIsShownOnce(t *testing.T) {
	wantShown(t, stoppedCall, `
● bash one

somebody else has stopped the turn: too long

  ✗ cancelled · 2.0 s
`)
}

// TestAStopOfTheViewersOwnIsNamed checks that the view distinguishes a stop by this program from a stop
// by another client.
func TestAStopOfTheViewersOwnIsNamed(t *testing.T) {
	var out bytes.Buffer
	v := NewTextView(Streams{Stdout: NewScreen(&out)}, "")
	own := true
	v.StoppedHere = func() bool { was := own; own = false; return was }
	e := client.Event{Type: perdure.EventSignal, Data: json.RawMessage(`{"signalName":"perdure.interrupt","signalValue":{}}`)}
	for range 2 {
		if err := v.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	if got := out.String(); got != "you have stopped the turn\nsomebody else has stopped the turn\n" {
		t.Errorf("shown is %q", got)
	}
}

// TestACompactionThatDoesNothingIsExplained checks that the view explains why a requested compaction
// did nothing. An automatic compaction that fails is not shown.
func TestACompactionThatDoesNothingIsExplained(t *testing.T) {
	wantShown(t, `data {"data":{"type":"compaction","state":"started","reason":"manual"}}
	data {"data":{"type":"compaction","state":"failed","reason":"automatic","error":"no"}}
	data {"data":{"type":"compaction","state":"failed","reason":"manual","error":"there is nothing to compact"}}
`, `
the conversation was not compacted: there is nothing to compact
`)
}
