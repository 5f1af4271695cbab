package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal/terminaltest"
)

// TestVisibleJSONIsTheSameJSON checks that printed JSON decodes to the same value as the original,
// although unsafe characters are escaped.
func TestVisibleJSONIsTheSameJSON(t *testing.T) {
	for _, text := range append(terminaltest.Escapes, "plain ü 漢字 👨\u200d👩\u200d👧", "\U0001f600\u202e") {
		var out bytes.Buffer
		want := terminaltest.Filled[perdure.Execution](text)
		if err := NewScreen(&out).PrintJSON(want); err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(decoded(t, raw), decoded(t, out.Bytes())); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func decoded(t *testing.T, raw []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v: %q", err, raw)
	}
	return v
}

// TestEventsOfARunCannotControlTheTerminal checks that texts of models, tools and clients in a
// run's events do not control the terminal.
func TestEventsOfARunCannotControlTheTerminal(t *testing.T) {
	for _, text := range append(terminaltest.Escapes, "&#27;]52;c;ZXZpbA==&#7;", "&#x1B;[2J", "&#27;[8mhidden", "\x1b[8mhidden", "&#155;2J", "&#x202e;", "[a](http://b\u202ec)", "`\u202e`") {
		for _, kind := range []perdure.EventType{
			perdure.EventToken, perdure.EventThinking, perdure.EventTerminal, client.EventSnapshot, perdure.EventData, perdure.EventEntry,
			perdure.EventError, perdure.EventTaskRetrying, perdure.EventTaskStarted, perdure.EventTaskFailed, perdure.EventTaskCompleted,
		} {
			for _, width := range []int{0, 60} {
				var out bytes.Buffer
				v := NewTextView(Streams{Stdout: NewScreen(&out)}, "")
				if width > 0 {
					v.p.colour, v.p.width = true, func() int { return width }
					v.prose = newProse(v.p)
				}
				show(t, v, kind, text)
				shown := ownSequences.ReplaceAllString(out.String(), "")
				if r := terminaltest.Unsafe(shown); r >= 0 {
					t.Errorf("%s in %d columns printed %U of %q: %q", kind, width, r, text, out.String())
				}
				if strings.Contains(out.String(), "\x1b]") || strings.Contains(out.String(), "\x1b[2J") || strings.Contains(out.String(), "\x1b[8m") {
					t.Errorf("%s in %d columns printed a sequence of %q: %q", kind, width, text, out.String())
				}
			}
		}
	}
}

func show(t *testing.T, v *TextView, kind perdure.EventType, text string) {
	t.Helper()
	call := map[string]any{"id": text, "name": text}
	content, err := json.Marshal(perdure.Content{Parts: []perdure.Part{{Type: perdure.PartText, Text: text}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range []any{text, map[string]any{"type": "tool_call_start", "tool_call": call}, map[string]any{"type": "tool_call_end", "tool_call": call, "result": map[string]any{"text": text, "isError": true}}} {
		members := map[string]any{
			"data": data, "type": perdure.EventToken, "message": text, "code": text, "kind": text, "error": text, "reason": text, "toolCallId": text, "stream": "stdout",
			"offset": 0, "seq": 1,
		}
		if kind == perdure.EventEntry {
			members = map[string]any{"id": uuid.New(), "role": perdure.RoleUser, "type": perdure.EntryMessage, "content": json.RawMessage(content)}
		}
		raw, err := json.Marshal(members)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Event(client.Event{Type: kind, Data: raw}); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
	}
	v.notice(StyleWarn, text)
	v.p.section("end")
}

func TestJoinersPassWhereScriptsNeedThem(t *testing.T) {
	for text, want := range map[string]string{
		"👨\u200d👩\u200d👧": "👨\u200d👩\u200d👧", "می\u200cخواهم": "می\u200cخواهم", "क\u094d\u200dष": "क\u094d\u200dष",
		"a\u200db": `a\u200db`, "é\u200db": `é\u200db`, "\u200da": `\u200da`, "👨\u200d\u200d": "👨\u200d\\u200d",
		"\u0600\u06dd": "\u0600\u06dd", "tab\tline\n": "tab\tline\n", "a\xffb": "a\ufffdb", "\U000e0001": `\udb40\udc01`,
	} {
		if got := Visible(text); got != want {
			t.Errorf("%+q is shown as %+q, want %+q", text, got, want)
		}
	}
}

// FuzzScreen checks that the output is equal for every division of a text into writes, and is always
// safe.
func FuzzScreen(f *testing.F) {
	for _, text := range terminaltest.Escapes {
		f.Add([]byte(text), uint8(1))
	}
	f.Add([]byte("👨\u200d👩\x1b[31mred"), uint8(3))
	f.Fuzz(func(t *testing.T, text []byte, size uint8) {
		var whole, pieces bytes.Buffer
		s, p := NewScreen(&whole), NewScreen(&pieces)
		text = append(text, '\n') // ends an incomplete character
		_, _ = s.Write(text)
		for rest := text; len(rest) > 0; {
			n := min(int(size%5)+1, len(rest))
			_, _ = p.Write(rest[:n])
			rest = rest[n:]
		}
		if r := terminaltest.Unsafe(whole.String()); r >= 0 {
			t.Fatalf("%q has %U", whole.String(), r)
		}
		if whole.String() != pieces.String() {
			t.Fatalf("%q in pieces is %q", whole.String(), pieces.String())
		}
		if again := Visible(whole.String()); again != whole.String() {
			t.Fatalf("%q is changed again to %q", whole.String(), again)
		}
		if _, err := p.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		var painted bytes.Buffer
		_ = NewScreen(&painted).writeStyled(string(text))
		if r := terminaltest.Unsafe(ownSequences.ReplaceAllString(painted.String(), "")); r >= 0 {
			t.Fatalf("%q has %U", painted.String(), r)
		}
	})
}

// TestTheScreenTakesSeveralWriters checks that several goroutines can write to a screen at the same
// time, and that no line is lost.
func TestTheScreenTakesSeveralWriters(t *testing.T) {
	var out bytes.Buffer
	s := NewScreen(&out)
	var writers sync.WaitGroup
	for range 8 {
		writers.Go(func() {
			for range 50 {
				_, _ = fmt.Fprintln(s, "a line of ü")
				_ = s.Linef("%s", "another of ü")
				_ = s.writeStyled("\x1b[1mpainted ü\x1b[0m\n")
				_ = s.WriteAnswer("an answer")
			}
		})
	}
	writers.Wait()
	if got := strings.Count(out.String(), "\n"); got != 8*50*4 {
		t.Errorf("%d lines were written, want %d", got, 8*50*4)
	}
}
