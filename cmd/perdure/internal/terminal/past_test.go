package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

func messageEntry(t *testing.T, role perdure.Role, parts ...perdure.Part) perdure.Entry {
	t.Helper()
	raw, err := json.Marshal(perdure.Content{Parts: parts})
	if err != nil {
		t.Fatal(err)
	}
	return perdure.Entry{ID: uuid.New(), Type: perdure.EntryMessage, Role: role, Content: raw}
}

// pastOf returns the text that is shown for the past of a run. The run has 7 more entries before the
// given ones.
func pastOf(t *testing.T, entries ...perdure.Entry) string {
	t.Helper()
	var out bytes.Buffer
	v := NewTextView(Streams{Stdout: NewScreen(&out)}, " --server X")
	v.AddEntries(entries)
	x := &perdure.Execution{ID: uuid.MustParse("01a1fc84-46e5-7b0a-a4e9-4a14f3bc5720"), Kind: perdure.ReactKind}
	p := Past{Entries: entries, EntriesBefore: 7, Load: func(*perdure.Entry) error { return nil }}
	if err := v.Past(x, p); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

const showsAll = ": perdure show 01a1fc84-46e5-7b0a-a4e9-4a14f3bc5720 --server X\n\n"

// TestThePastIsTheNewestTurns checks that the past consists of the newest turns, with calls and
// results, in the form in which they were first shown.
func TestThePastIsTheNewestTurns(t *testing.T) {
	var entries []perdure.Entry
	for i := range 4 {
		call := perdure.Part{Type: perdure.PartToolCall, ID: fmt.Sprint(i), Name: "bash", Arguments: json.RawMessage(`{"command": "ls"}`)}
		result := perdure.Part{Type: perdure.PartToolResult, ToolCallID: call.ID, ToolName: "bash", Parts: []perdure.Part{perdure.Text("a.go\nb.go")}}
		entries = append(
			entries, messageEntry(t, perdure.RoleUser, perdure.Text(fmt.Sprint("question ", i))), messageEntry(t, perdure.RoleAssistant, call),
			messageEntry(t, perdure.RoleToolResult, result), messageEntry(t, perdure.RoleAssistant, perdure.Text(fmt.Sprint("answer ", i))),
		)
	}
	var turns []string
	for i := 1; i < 4; i++ {
		turns = append(turns, fmt.Sprintf("› question %d\n\n● bash ls\n  │ a.go\n  │ b.go\n  ✓\n\nanswer %d\n", i, i))
	}
	want := "… 11 earlier entries" + showsAll + strings.Join(turns, "\n")
	if diff := cmp.Diff(want, pastOf(t, entries...)); diff != "" {
		t.Error(diff)
	}
}

// TestThePastIsBounded checks that the past has a bounded number of rows. Entries are shown completely,
// except that a newest entry over the bound is cut.
func TestThePastIsBounded(t *testing.T) {
	lines := func(n int) perdure.Entry {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "line %d\n", i)
		}
		return messageEntry(t, perdure.RoleAssistant, perdure.Text(b.String()))
	}
	user := messageEntry(t, perdure.RoleUser, perdure.Text("go on"))
	got := pastOf(t, user, lines(35), user, lines(10))
	if !strings.HasPrefix(got, "… 9 earlier entries"+showsAll+"› go on\n\nline 0\n") || strings.Count(got, "\n") != 14 {
		t.Errorf("two turns of which one fits: %s", got)
	}
	got = pastOf(t, user, lines(100))
	if !strings.HasPrefix(got, "… 8 earlier entries and 61 lines"+showsAll+"line 60\n") || !strings.HasSuffix(got, "line 99\n") {
		t.Errorf("a long answer: %s", got)
	}
	var many []perdure.Entry
	for range 60 {
		many = append(many, lines(1))
	}
	if got = pastOf(t, many...); strings.Count(got, "line 0") != 20 || !strings.HasPrefix(got, "… 47 earlier entries") {
		t.Errorf("many entries: %s", got)
	}
	if got = pastOf(t); got != "… 7 earlier entries"+showsAll {
		t.Errorf("no entries: %q", got)
	}
}

// TestLongMessagesOfTheUserAreFolded checks that a long message of the user is folded in a terminal
// if the option FoldUserMessages of the view is set.
func TestLongMessagesOfTheUserAreFolded(t *testing.T) {
	for _, c := range []struct{ text, head, left string }{
		{"one\ntwo\n", "one\ntwo\n", ""},
		{strings.Repeat("x\n", 300), strings.TrimSuffix(strings.Repeat("x\n", 10), "\n"), "… 290 more lines of the message"},
		{strings.Repeat("é", 3000), strings.Repeat("é", 2048), "… 1,904 more bytes of the message"},
	} {
		if head, left := foldMessage(c.text); head != c.head || left != c.left {
			t.Errorf("the beginning has %d bytes, and the rest is %q", len(head), left)
		}
	}
}

// TestThePastHasTheExitCodeOfACommand checks that the last line of a failed command has its exit code,
// also if no live output was seen.
func TestThePastHasTheExitCodeOfACommand(t *testing.T) {
	result := perdure.Part{Type: perdure.PartToolResult, ToolCallID: "a", ToolName: "bash", IsError: true, Parts: []perdure.Part{perdure.Text("one\n[exit code 3]")}}
	got := pastOf(t, messageEntry(t, perdure.RoleToolResult, result))
	if want := "… 7 earlier entries" + showsAll + "● bash\n  │ one\n  ✗ exit code 3\n"; got != want {
		t.Errorf("shown is %q, want %q", got, want)
	}
}
