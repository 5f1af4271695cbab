package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
)

const chatScript = `pace 5ms
turn
  thinking I will think about it for a while, in a line that is long enough to be wrapped in any terminal of the usual widths, which are eighty and one hundred and twenty columns.
  text I will look around in the folder to see what there is, and tell you what I have found there, in a rather long paragraph.
  call bash {"command": "seq 1 60"}
turn
  text <<END
There are two files:

- go.mod
- main.go

That is all.
END
turn
  text Second answer.
turn
  text Third answer.
`

// TestChatKeepsTheInputBelowTheOutput checks that typed text stays in the input line while output
// appears above it, and that no line of the output is lost or garbled, at any width.
func TestChatKeepsTheInputBelowTheOutput(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, width := range []int{80, 120} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "s", chatScript)
			s := onScreen(t, dir, width, "chat", "--model", "scripted/s", "--approve", "allow", "--confine", "off")
			s.ready()
			s.enter("what is here?")
			s.shows("I will think")
			for i := range 30 {
				s.keys(fmt.Sprintf("w%d ", i))
			}
			s.shows("That is all.")
			text := s.until("the whole input", func(text string) bool { return strings.Contains(text, "w29") && strings.Contains(text, "your turn") })
			var numbers []string
			for _, m := range regexp.MustCompile(`(?m)^  │ (\d+)$`).FindAllStringSubmatch(text, -1) {
				numbers = append(numbers, m[1])
			}
			var want []string
			for i := range 60 {
				want = append(want, fmt.Sprint(i+1))
			}
			if strings.Join(numbers, " ") != strings.Join(want, " ") {
				t.Errorf("the output of the tool is %v\n%s", numbers, text)
			}
			if strings.Count(text, "w3 ") != 1 || strings.Count(text, "› what is here?") != 1 || strings.Count(text, "Second") != 0 {
				t.Errorf("the text is garbled:\n%s", text)
			}
			said := strings.Join(strings.Fields(text), " ")
			for _, want := range []string{"to see what there is, and tell you what I have found there, in a rather long paragraph.", "• go.mod • main.go That is all."} {
				if strings.Count(said, want) != 1 {
					t.Errorf("%q is not there once:\n%s", want, text)
				}
			}
			for line := range strings.Lines(text) {
				if len([]rune(strings.TrimRight(line, "\n"))) > width {
					t.Errorf("a line is wider than the terminal: %s", line)
				}
			}
			s.keys(keyEnter)
			s.shows("Second answer.")
			s.ready()
			s.keys(keyCtrlD)
			s.ends(4)
		})
	}
}

// TestChatStopsLeavesAndContinues checks that Esc stops the turn, that Ctrl-C twice leaves the chat and
// prints how to continue it, and that a private file keeps the history of inputs for the next chat.
func TestChatStopsLeavesAndContinues(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, width := range []int{80, 120} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "s", "pace 20ms\nturn\n  text "+strings.Repeat("many words ", 500)+"\nturn\n  text Hello again.\nturn\n  text And again.\n")
			s := onScreen(t, dir, width, "chat", "--model", "scripted/s", "x")
			s.shows("many words")
			s.keys(keyEsc)
			s.shows("you have stopped the turn\n")
			s.ready()
			s.keys("one" + keyCtrlJ + "two")
			s.shows("› one\n  two\n")
			s.keys(keyEnter)
			s.shows("Hello again.")
			s.ready()
			s.keys("draft" + keyCtrlC)
			s.shows("›\nCtrl-C again leaves the chat")
			s.keys(keyCtrlC)
			text := s.ends(130)
			id := runLine.FindStringSubmatch(text)
			if id == nil || !strings.Contains(text, "go on with it:  perdure chat "+id[1]+"\n") {
				t.Fatalf("it does not say how to continue:\n%s", text)
			}
			if strings.Contains(text, "draft") || strings.Contains(text, "Ctrl-C again") {
				t.Errorf("the input line is left:\n%s", text)
			}
			info, err := os.Stat(filepath.Join(dir, "d", "chat-history"))
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the history is %v, %v", info, err)
			}
			s = onScreen(t, dir, width, "chat", id[1])
			s.ready()
			s.keys(keyUp)
			s.shows("› one\n  two\n")
			s.keys(keyEnter)
			s.shows("And again.")
			s.ready()
			s.keys(keyCtrlD)
			s.ends(4)
		})
	}
}

// TestChatAnswersQuestionsInTheInputLine checks that the user can answer a question in the input
// line or with /approve, and that Esc stops the turn that asked it.
func TestChatAnswersQuestionsInTheInputLine(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	call := "  call bash {\"command\": \"echo ran-%d\"}\n"
	write(t, dir, "s", "turn\n"+fmt.Sprintf(call, 1)+"turn\n"+fmt.Sprintf(call, 2)+"turn\n"+fmt.Sprintf(call, 3)+"turn\n  when interrupted\n    text I see.\n  else\n    text Understood.\n")
	s := onScreen(t, dir, 80, "run", "--chat", "--model", "scripted/s", "--approve", "ask", "--confine", "off", "x")
	for i, answer := range []string{"y", "n not that one", "/approve"} {
		s.until("the question", func(text string) bool {
			asked := strings.Contains(text, fmt.Sprintf("\n  │ echo ran-%d\n", i+1)) && strings.Count(text, "? May bash run?") == i+1 && strings.Count(text, "  question ") == i+1
			return asked && strings.HasSuffix(text, "n to deny ›\n›\nscripted/s · the run asks you · Esc stops the turn\n")
		})
		if i == 0 {
			s.enter("what is that?")
			s.shows("  y or n; n with words after it tells the agent why\n")
		}
		s.enter(answer)
	}
	text := s.shows("Understood.")
	if !strings.Contains(text, "│ ran-3") || strings.Contains(text, "│ ran-2") || !strings.Contains(text, "not that one") {
		t.Errorf("the answers are wrong:\n%s", text)
	}
	s.ready()
	s.keys(keyCtrlD)
	s.ends(4)
}

// TestChatStopsTheTurnOfAQuestion checks that Esc stops the turn while the terminal asks a question
// of that turn.
func TestChatStopsTheTurnOfAQuestion(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	write(t, dir, "s", "turn\n  call bash {\"command\": \"echo ran\"}\nturn\n  text Then not.\n")
	s := onScreen(t, dir, 80, "chat", "--model", "scripted/s", "--approve", "ask", "x")
	s.shows("n to deny ›")
	s.shows("the run asks you")
	s.keys(keyEsc)
	s.shows("you have stopped the turn\n")
	s.ready()
	s.enter("go on")
	s.shows("Then not.")
	s.ready()
	s.keys(keyCtrlD)
	if text := s.ends(4); strings.Contains(text, "│ ran") {
		t.Errorf("the tool ran:\n%s", text)
	}
}

// TestChatCommands checks that the commands of a chat work, that the Tab key completes their names,
// and that the error for a mistyped name contains the nearest command.
func TestChatCommands(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, width := range []int{80, 100, 120} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "s", "turn\n  text First.\nturn\n  text Second.\n")
			write(t, dir, "notes.txt", "x")
			s := onScreen(t, dir, width, "chat", "--model", "scripted/s", "--tools", "grep,read-file")
			s.ready()
			s.enter("/cost")
			s.shows("/cost needs a run")
			s.enter("a first run")
			text := s.shows("First.")
			first := runLine.FindStringSubmatch(text)[1]
			s.ready()
			s.enter("/tools ")
			s.shows("the model may use: grep, read-file")
			s.keys("/co")
			s.shows("→ /cost  tokens and cost")
			s.keys(keyTab)
			s.shows("› /cost\n")
			s.keys(keyEnter)
			s.shows("scripted/s  1 call")
			s.enter("/tols")
			s.shows("did you mean /tools?")
			s.keys("see @not")
			s.shows("→ @notes.txt")
			s.keys(keyTab + "please" + keyEnter)
			s.shows("› see @notes.txt please")
			s.shows("Second.")
			s.ready()
			s.enter("/new another run")
			s.shows("› another run\n\nFirst.\n")
			s.ready()
			s.enter("/resume")
			s.shows(first + "  your turn  a first run")
			s.enter("/resume " + first)
			s.until("the first run again", func(text string) bool { return strings.Count(text, "run "+first) == 2 })
			s.ready()
			s.enter("/help")
			s.shows("Ctrl-C twice leaves")
			s.keys(keyCtrlD)
			s.ends(4)
		})
	}
}

// TestChatChoosesTheModel checks that /model and perdure signal choose the model of the next turns,
// among the models of the run.
func TestChatChoosesTheModel(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, width := range []int{80, 120} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range []string{"s", "other"} {
				write(t, dir, name, fmt.Sprintf("turn\n  text First of %s.\nturn\n  text Second of %s.\nturn\n  text Third of %s.\n", name, name, name))
			}
			s := onScreen(t, dir, width, "chat", "--model", "scripted/s,scripted/other", "x")
			s.shows("First of s.")
			s.ready()
			s.enter("/model ")
			s.shows("→ scripted/s\n  scripted/other")
			s.enter("/model scripted/othre")
			s.until("the refusal with the nearest name", func(text string) bool {
				return strings.Contains(strings.Join(strings.Fields(text), " "), "is not among the models of the run: scripted/s, scripted/other; did you mean scripted/other? ›")
			})
			s.keys("/model scripted/o")
			s.shows("→ scripted/other\n")
			s.keys(keyTab + keyEnter)
			s.shows("the next turn asks scripted/other")
			s.enter("go on")
			text := s.shows("Second of other.")
			id := runLine.FindStringSubmatch(text)[1]
			launch(t, dir, "signal", id, "model", `{"provider":"scripted","modelId":"none"}`).wantEnd(2)
			launch(t, dir, "signal", id, "model", `{"provider":"scripted","modelId":"s"}`).wantEnd(0)
			s.shows("scripted/s · your turn")
			s.enter("and on")
			s.shows("Third of s.")
			s.ready()
			s.keys(keyCtrlD)
			s.ends(4)
			s = onScreen(t, dir, width, "chat", id)
			s.shows("scripted/s · your turn")
			s.keys(keyCtrlD)
			s.ends(4)
		})
	}
}

// TestChatShowsParallelTools checks that concurrent tool calls are shown in separate blocks. A long
// output is shown by its beginning and its end, and each row of a wrapped line keeps its gutter.
func TestChatShowsParallelTools(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, width := range []int{80, 120} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "s", `turn
  call bash {"command": "until test -e go; do sleep 0.01; done; seq 1 200; printf 'x%.0s' $(seq 300); echo"}
  call bash {"command": "echo second; touch go"}
turn
  text Done.
`)
			s := onScreen(t, dir, width, "chat", "--model", "scripted/s", "--approve", "allow", "--confine", "off", "x")
			s.shows("Done.")
			text := s.ready()
			s.keys(keyCtrlD)
			s.ends(4)
			rows, inFirst := strings.Split(text, "\n"), false
			numbers, xs := 0, 0
			for _, row := range rows {
				body, isOutput := strings.CutPrefix(row, "  │ ")
				switch {
				case strings.HasPrefix(row, "● bash"):
					inFirst = strings.Contains(row, "until")
				case isOutput && (body == "second") == inFirst:
					t.Errorf("the row %q is in the block of another tool", row)
				case isOutput && strings.Trim(body, "0123456789") == "":
					numbers++
				}
				if strings.Trim(row, "x") == "" && row != "" {
					t.Errorf("the row %q has no gutter", row)
				}
				xs += strings.Count(strings.TrimLeft(body, "› "), "xxx")
			}
			if numbers != 59 || xs < 90 || !strings.Contains(text, "  │ … 141 lines left out\n") {
				t.Errorf("%d numbers, %d runs of x:\n%s", numbers, xs, text)
			}
		})
	}
}
