package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
)

// TestChatSeesAnswersFromElsewhere checks that the chat stops asking a question that another client
// answers, and then shows what the run does next.
func TestChatSeesAnswersFromElsewhere(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	write(t, dir, "s", "turn\n  call bash {\"command\": \"echo ran-1\"}\nturn\n  call bash {\"command\": \"echo ran-2\"}\nturn\n  text Understood.\n")
	s := onScreen(t, dir, 80, "chat", "--model", "scripted/s", "--approve", "ask", "--confine", "off", "x")
	text := s.asks("echo ran-1", asksHere)
	id := regexp.MustCompile(`\n  question ([0-9a-f-]{36})\n`).FindStringSubmatch(text)
	if id == nil {
		t.Fatalf("the question has no id:\n%s", text)
	}
	launch(t, dir, "answer", id[1], "approve").wantEnd(0)
	s.shows("perdure: answered elsewhere: approved by the data directory's token\n")
	text = s.asks("echo ran-2", asksHere)
	if !strings.Contains(text, "│ ran-1\n") || strings.Count(text, "n to deny ›") != 1 {
		t.Errorf("the approved call is not shown, or its prompt is left:\n%s", text)
	}
	s.enter("y")
	s.shows("Understood.")
	s.ready()
	s.keys(keyCtrlD)
	s.ends(4)
}

// TestChatStopsATurnThatItIsAttachedTo checks that a chat can stop a turn that was already running a tool
// when the chat was opened.
func TestChatStopsATurnThatItIsAttachedTo(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	write(t, dir, "s", "turn\n  call bash {\"command\": \"echo begun; sleep 60\"}\nturn\n  text Done.\n")
	first := onScreen(t, dir, 80, "chat", "--model", "scripted/s", "--approve", "allow", "--confine", "off", "x")
	first.shows("│ begun\n")
	second := onScreen(t, dir, 80, "chat", "last")
	second.shows("scripted/s · working · Esc stops the turn\n")
	second.keys(keyEsc)
	second.shows("you have stopped the turn\n")
	second.ready()
	second.keys(keyCtrlD)
	second.ends(4)
	first.ready()
	first.keys(keyCtrlD)
	first.ends(4)
}

// TestChatKeepsWhatIsTypedWhileTheRunStarts checks that lines which the user types while the run is being
// started become the run's next messages.
func TestChatKeepsWhatIsTypedWhileTheRunStarts(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "s", "turn\n  text First.\nturn\n  text Second.\nturn\n  text Third.\n")
	s := onScreen(t, dir, 80, "chat", "--model", "scripted/s")
	s.ready()
	s.keys("one" + keyEnter + "two" + keyEnter + "three" + keyEnter)
	s.until("all messages, in one run", func(text string) bool {
		return strings.Contains(text, "\n› two\n") && strings.Contains(text, "› three\n") && strings.Contains(text, "Second.") && len(runLine.FindAllString(text, -1)) == 1
	})
	s.ready()
	s.keys(keyCtrlD)
	s.ends(4)
}
