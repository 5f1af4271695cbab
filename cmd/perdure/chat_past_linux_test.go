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

// TestChatShowsThePast checks a chat that continues a run. The chat shows the end of the
// conversation in the form in which it was shown before, and says how to see all of it. /resume
// shows the same.
func TestChatShowsThePast(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, width := range []int{80, 120} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			dir := t.TempDir()
			script := "turn\n  text Let me look.\n  call bash {\"command\": \"seq 1 3\"}\nturn\n  text Answer 1.\n"
			for i := range 5 {
				script += fmt.Sprintf("turn\n  text Answer %d.\n", i+2)
			}
			write(t, dir, "s", script)
			s := onScreen(t, dir, width, "chat", "--model", "scripted/s", "--approve", "allow", "--confine", "off", "Message 1")
			for i := range 3 {
				s.shows(fmt.Sprintf("Answer %d.", i+1))
				s.ready()
				s.enter(fmt.Sprintf("Message %d", i+2))
			}
			s.shows("Answer 4.")
			first := runLine.FindStringSubmatch(s.ready())[1]
			s.keys(keyCtrlD)
			s.ends(4)

			past := "\n\n› Message 2\n\nAnswer 2.\n\n› Message 3\n\nAnswer 3.\n\n› Message 4\n\nAnswer 4.\n"
			s = onScreen(t, dir, width, "chat", "--approve", "allow", "--confine", "off", first)
			text := s.shows("run " + first + "\n… 4 earlier entries: perdure show " + first + past + "›\n")
			if strings.Contains(text, "Answer 1.") {
				t.Errorf("all of the run is shown:\n%s", text)
			}
			s.ready()
			s.enter("Message 5")
			s.shows("Answer 4.\n\n› Message 5\n\nAnswer 5.\n")
			s.ready()
			s.enter("/new another")
			s.until("the answer of the new run", func(text string) bool {
				return strings.Contains(text, "│ 3\n") && strings.Contains(text, "Answer 1.")
			})
			s.ready()
			s.enter("/resume " + first)
			s.shows("run " + first + "\n… 6 earlier entries: perdure show " + first + "\n\n› Message 3\n\nAnswer 3.\n\n› Message 4")
			s.ready()
			s.keys(keyCtrlD)
			s.ends(4)
		})
	}
}

// TestChatKeepsTheChosenModelForNewRuns checks that a new run of a chat calls the model that was chosen
// in the chat, and that the chat says so.
func TestChatKeepsTheChosenModelForNewRuns(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	for _, name := range []string{"s", "other"} {
		write(t, dir, name, fmt.Sprintf("turn\n  text First of %s.\nturn\n  text Second of %s.\n", name, name))
	}
	s := onScreen(t, dir, 80, "chat", "--model", "scripted/s,scripted/other", "x")
	s.shows("First of s.")
	s.ready()
	s.enter("/model scripted/other")
	s.shows("the next turn asks scripted/other\n")
	s.enter("/new")
	s.shows("the new run asks scripted/other, which you have chosen\n")
	s.shows("scripted/other · a new run: type what is to be done")
	s.enter("y")
	s.shows("First of other.")
	s.shows("scripted/other · your turn")
	s.enter("/new z")
	s.until("the second new run", func(text string) bool { return strings.Count(text, "First of other.") == 2 })
	s.enter("/model scripted/s")
	s.shows("the next turn asks scripted/s\n")
	s.enter("/new w")
	s.until("the third new run", func(text string) bool { return strings.Count(text, "First of s.") == 2 })
	if text := s.ready(); strings.Count(text, "which you have chosen") != 2 {
		t.Errorf("the choice of the default model is told:\n%s", text)
	}
	s.keys(keyCtrlD)
	s.ends(4)
}

// TestChatHistoryHasNoAnswers checks that answers to questions are not in the history of inputs, and
// that messages and commands are.
func TestChatHistoryHasNoAnswers(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	call := "turn\n  call bash {\"command\": \"echo ran\"}\n"
	write(t, dir, "s", call+call+"turn\n  text Done.\n")
	s := onScreen(t, dir, 80, "chat", "--model", "scripted/s", "--approve", "ask", "--confine", "off")
	s.ready()
	s.enter("a message")
	s.shows("n to deny ›")
	s.enter("/tools")
	s.shows("the model may use:")
	s.enter("y")
	s.until("the second question", func(text string) bool {
		return strings.Count(text, "? May bash run?") == 2 && strings.Contains(text, "\n›\n"+asksHere)
	})
	s.enter("n")
	s.until("the question for the reason", func(text string) bool { return strings.Contains(text, "reason (may be empty) ›\n›\n") })
	s.enter("because")
	s.shows("Done.")
	s.ready()
	s.keys(keyUp)
	s.shows("› /tools\nscripted/s")
	s.keys(keyUp)
	s.shows("› a message\nscripted/s")
	s.keys(keyCtrlC + keyCtrlD)
	s.ends(4)
	raw, err := os.ReadFile(filepath.Join(dir, "d", "chat-history"))
	if err != nil || string(raw) != "\"a message\"\n\"/tools\"\n" {
		t.Errorf("the history is %q, %v", raw, err)
	}
}

// TestChatFoldsTheEchoOfALongMessage checks that the chat echoes only the beginning of a long
// message, and that the model gets the whole message.
func TestChatFoldsTheEchoOfALongMessage(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, width := range []int{80, 120} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "s", "turn\n  text Long.\n")
			s := onScreen(t, dir, width, "chat", "--model", "scripted/s")
			s.ready()
			var b strings.Builder
			for i := range 300 {
				fmt.Fprintf(&b, "pasted %d\n", i)
			}
			s.keys("\x1b[200~" + b.String() + "\x1b[201~")
			s.shows("pasted 299\n")
			s.keys(keyEnter)
			s.shows("Long.")
			text := s.ready()
			if n := len(regexp.MustCompile(`(?m)^› pasted \d+$`).FindAllString(text, -1)); n != 10 || !strings.Contains(text, "› pasted 9\n… 290 more lines of the message\n") {
				t.Errorf("%d lines are echoed:\n%s", n, text)
			}
			if sent := outputOf(t, dir, "show", "last", "--call", "last", "--as", "anthropic"); !strings.Contains(sent, `pasted 298\npasted 299`) {
				t.Errorf("the model gets %d bytes", len(sent))
			}
			s.keys(keyCtrlD)
			s.ends(4)
		})
	}
}

// TestChatSaysWhatCompactionDid checks that a run that waits for a message compacts its
// conversation at once, and that the chat prints the result.
func TestChatSaysWhatCompactionDid(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	write(t, dir, "s", "turn\n  text First."+strings.Repeat(" word", 100)+"\nturn\n  text Second.\n")
	s := onScreen(t, dir, 80, "chat", "--model", "scripted/s", "x")
	s.shows("First.")
	s.ready()
	s.enter("/compact")
	s.shows("the conversation was not compacted: there is nothing to compact\n")
	s.ready()
	s.enter("y")
	s.shows("Second.")
	s.ready()
	s.enter("/compact")
	text := s.until("the divider", func(text string) bool {
		return regexp.MustCompile(`── \d messages? summarized, [0-9.]+( k)? → [0-9.]+( k)? tokens ──`).MatchString(text)
	})
	if strings.Contains(text, "before the next model call") {
		t.Errorf("the chat says that it compacts later:\n%s", text)
	}
	s.ready()
	s.keys(keyCtrlD)
	s.ends(4)
}

// TestChatThatIsLeftAtWorkSaysHowToContinue checks that /quit during a turn prints the commands
// that continue the run. They include perdure tail only if a worker other than the chat's runs the
// turn.
func TestChatThatIsLeftAtWorkSaysHowToContinue(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	write(t, dir, "s", "pace 20ms\nturn\n  text "+strings.Repeat("many words ", 500)+"\nturn\n  text Hello again.\n")
	left := func() (id, text string) {
		t.Helper()
		s := onScreen(t, dir, 80, "chat", "--model", "scripted/s", "x")
		s.shows("many words")
		s.enter("/quit")
		text = s.ends(4)
		return runLine.FindStringSubmatch(text)[1], text
	}
	id, text := left()
	if !strings.Contains(text, "the run stops here and is kept\n") || !strings.Contains(text, "go on with it:  perdure chat "+id+"\n") || strings.Contains(text, "perdure tail") {
		t.Errorf("it does not say how to continue:\n%s", text)
	}
	serveDev(t, dir)
	id, text = left()
	if !strings.Contains(text, "the run goes on at the server\n") || !strings.Contains(text, "watch it:       perdure tail "+id+"\n") || !strings.Contains(text, "perdure chat "+id+"\n") {
		t.Errorf("it does not say how to continue:\n%s", text)
	}
}

// TestChatRetriesAFailedTurn checks that the chat reports a failure of the model, and that /retry calls
// the model again.
func TestChatRetriesAFailedTurn(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	write(t, dir, "s", "turn\n  fail auth the key is no good\n")
	s := onScreen(t, dir, 80, "chat", "--model", "scripted/s", "x")
	s.shows("scripted/s · the model failed · /retry asks it again\n")
	write(t, dir, "s", "turn\n  text Fine now.\n")
	s.enter("/retry")
	s.shows("Fine now.")
	s.ready()
	s.enter("/retry")
	s.shows("no turn has failed\n")
	s.enter("/model")
	s.shows("no turn has failed\n\nthe models of this run")
	s.enter("/quit")
	s.ends(4)
}
