package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/worker"
)

type parcel struct {
	Address string `json:"address"`
	Boxes   int    `json:"boxes"`
}

// The texts are longer than a row of the widest terminal in the tests.
const (
	longAddress = "Ann, in the yellow house at the end of the long street behind the old mill, third floor, on the left, where the dog barks"
	longNote    = "please call before you come, because the bell does not work and the door is at the back of the house, behind the shed"
	longError   = "the shelf is empty: somebody has taken all of it, and nobody knows when there will be more of it, or whether ever again"
	longPrompt  = "Shall the parcel be sent although one of the shelves is empty, so that it has fewer boxes than were ordered by the customer?"
)

// send is an agent of another kind than the built-in one. It records a step, runs two tasks, appends
// a message, asks a question, and waits for any of three things.
func send(ctx agent.Context, in parcel) (parcel, error) {
	_, err := agent.Step(ctx, "price", func(context.Context) (int, error) { return 7 * in.Boxes, nil })
	if err != nil {
		return in, err
	}
	for _, shelf := range []string{"reserve", "reserve-more"} {
		if _, err := agent.Await[string](ctx, ctx.Schedule(shelf, in, agent.Attempts(1))); err != nil && shelf == "reserve" {
			return in, err
		}
	}
	said := perdure.Message{Role: perdure.RoleAssistant, Content: perdure.Content{Parts: []perdure.Part{perdure.Text("Reserved on shelf 7.")}}}
	if _, err := ctx.Append(said, agent.WithKey("reserved")); err != nil {
		return in, err
	}
	if _, err := agent.AskChoice(ctx, "fewer", longPrompt, []string{"yes", "no"}); err != nil {
		return in, err
	}
	_, err = ctx.WaitAny(72*time.Hour, agent.OnSignal("sent"), agent.OnSignal("gone"))
	return in, err
}

func serveParcels(t *testing.T, dir string) {
	serveKinds(t, dir, func(w *worker.Worker) {
		w.RegisterAgent(agent.DefineFunc("parcel", send))
		w.RegisterTask(agent.DefineTask("reserve", func(agent.TaskContext, parcel) (string, error) { return "shelf 7", nil }))
		w.RegisterTask(agent.DefineTask("reserve-more", func(agent.TaskContext, parcel) (string, error) {
			return "", errors.New(longError)
		}))
	})
}

// begins are the beginnings of the lines that perdure tail and show print about a run of the agent
// in the function send. A row that continues a line is indented.
var begins = []string{
	"run ", "parcel · ", "input: ", "step price ", "task reserve", "signal ", "waits for ", "? ", "Reserved on shelf 7.", "asks · ", "working · ", "completed · ", "output: ",
}

// wantLines checks that no row of the text is wider than the terminal, and that each row either
// begins a line about the run or is indented. The text must contain each wanted line, which may be
// broken into several rows.
func wantLines(t *testing.T, text string, width int, want ...string) {
	t.Helper()
	var lines []string
	for row := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if len([]rune(row)) > width {
			t.Errorf("a row is wider than the terminal: %s", row)
		}
		begin := row == "" || strings.HasPrefix(row, "  ") && !strings.HasPrefix(row, "    ")
		for _, b := range begins {
			begin = begin || strings.HasPrefix(row, b)
		}
		switch {
		case begin:
			lines = append(lines, row)
		case strings.HasPrefix(row, "    ") && len(lines) > 0:
			lines[len(lines)-1] += " " + strings.TrimSpace(row)
		default:
			t.Errorf("a row that continues a line has no indent: %s", row)
		}
	}
	// Rows are broken between words or within a long word, so the comparison leaves out blanks.
	all := strings.ReplaceAll(strings.Join(lines, "\n"), " ", "")
	for _, line := range want {
		if !strings.Contains("\n"+all+"\n", "\n"+strings.ReplaceAll(line, " ", "")) {
			t.Errorf("there is no line %s", line)
		}
	}
	if t.Failed() {
		t.Logf("the screen:\n%s", text)
	}
}

// TestRunsOfAnyKindFitTheTerminal checks that perdure tail and perdure show print what a run of any
// kind does, in lines that fit the terminal.
func TestRunsOfAnyKindFitTheTerminal(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	serveDev(t, dir)
	serveParcels(t, dir)
	input := fmt.Sprintf(`{"address":%q,"boxes":2}`, longAddress)
	for _, width := range []int{80, 120} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			id := outputOf(t, dir, "start", "parcel", input, "--detach")
			tail := onScreen(t, dir, width, "tail", id)
			asked := tail.shows("? choice: ")
			question := questionLine.FindStringSubmatch(tail.until("the id of the question", questionLine.MatchString))
			if question == nil {
				t.Fatalf("no question in\n%s", asked)
			}
			outputOf(t, dir, "signal", id, "note", fmt.Sprintf(`{"text":%q}`, longNote))
			tail.shows("signal note")
			asking := onScreen(t, dir, width, "show", id).ends(0)
			outputOf(t, dir, "answer", question[1], `"yes"`)
			tail.shows("waits for the signal sent")
			waiting := onScreen(t, dir, width, "show", id).ends(0)
			outputOf(t, dir, "signal", id, "sent", "null")
			followed := tail.ends(0)
			ended := onScreen(t, dir, width, "show", id).ends(0)

			const wait = "waits for the signal sent or the signal gone or 20"
			told := []string{"input: " + input, "step price · completed\n", "task reserve · completed · ", "Reserved on shelf 7.", "? choice: " + longPrompt}
			note := fmt.Sprintf(`{"text":%q}`, longNote)
			wantLines(t, asking, width, append(told, "task reserve-more · failed · ", "waits for an answer to choice: Shall the parcel",
				"signal note · not taken yet · 20", "  then:     perdure tail "+id)...)
			wantLines(t, waiting, width, append(told, wait, "  answered \"yes\" by the data directory's token", "  it waits for:  perdure signal "+id+" sent JSON", "  and for:       perdure signal "+id+" gone JSON")...)
			wantLines(t, ended, width, append(told, "signal sent · taken · 20", "output: "+input)...)
			wantLines(t, followed, width, append(told, "task reserve · started", wait, "signal note · "+note, "signal sent\n", "output: "+input)...)
			for _, text := range []string{asking, followed} {
				dense := strings.Join(strings.Fields(text), "")
				for _, whole := range []string{longError, longNote, longPrompt} {
					if !strings.Contains(dense, strings.ReplaceAll(whole, " ", "")) {
						t.Errorf("the screen does not show %q whole:\n%s", whole, text)
					}
				}
			}
		})
	}
}

// TestRunsOfSeveralKindsAreListed checks that perdure runs lists runs of several kinds in one line
// each. The list also has the titles of runs that other clients have started.
func TestRunsOfSeveralKindsAreListed(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	write(t, dir, "s", "turn\n  text Hello.\n")
	dev := serveDev(t, dir)
	serveParcels(t, dir)
	outputOf(t, dir, "run", "--quiet", "--model", "scripted/s", "Say hello to Ann\nand to Bob")
	outputOf(t, dir, "start", "parcel", fmt.Sprintf(`{"address":%q,"boxes":1}`, longAddress), "--detach")
	dev.ask("POST", "/agent-executions", `{"kind":"parcel","input":{"address":"Bob","boxes":3},"metadata":{"title":"Three boxes for Bob"}}`, 201)
	for _, width := range []int{80, 120} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			text := onScreen(t, dir, width, "runs").ends(0)
			for row := range strings.Lines(text) {
				if n := len([]rune(strings.TrimRight(row, "\n"))); n > width {
					t.Errorf("a row has %d columns: %s", n, row)
				}
			}
			if rows := strings.Count(text, "\n"); rows != 4 {
				t.Errorf("the list has %d rows:\n%s", rows, text)
			}
			for _, want := range []string{"TITLE", "completed", "Say hello to", "Three boxes for", `parcel {"address"`} {
				if !strings.Contains(text, want) {
					t.Errorf("the list does not show %q:\n%s", want, text)
				}
			}
			if shown := strings.Contains(text, "react-agent"); shown != (width == 120) {
				t.Errorf("the list shows kinds: %t\n%s", shown, text)
			}
		})
	}
}

// TestMistypedNamesOnTheScreen checks that the error for a mistyped command or flag suggests the
// nearest name, in rows that fit the terminal.
func TestMistypedNamesOnTheScreen(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	for _, width := range []int{80, 120} {
		for typed, want := range map[string]string{
			"shwo last": "did you mean show?", "tial last": "did you mean tail?", "tail last --form-now": "did you mean --from-now?", "runs --limt 3": "did you mean --limit?", "elsewhere": "the commands are: answer",
		} {
			text := onScreen(t, dir, width, strings.Fields(typed)...).ends(2)
			if !strings.Contains(text, want) {
				t.Errorf("%s at %d columns does not say %q:\n%s", typed, width, want, text)
			}
			for i, row := range strings.Split(strings.TrimSpace(text), "\n") {
				if len([]rune(row)) > width || i > 0 && !strings.HasPrefix(row, "  ") {
					t.Errorf("%s at %d columns has the row %q:\n%s", typed, width, row, text)
				}
			}
		}
	}
}

var questionLine = regexp.MustCompile(`question ([0-9a-f-]{36})`)
