package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
)

const asksHere = "scripted/s · the run asks you · Esc stops the turn\n"

// asks waits until the last question on the screen is about the command, and an empty input line and
// the status are below it. It returns the screen's text.
func (s *chatScreen) asks(command, status string) string {
	s.Helper()
	return s.until("the question about "+command, func(text string) bool {
		at := strings.LastIndex(text, "\n  question ")
		return at >= 0 && strings.Contains(text[at:], command) && strings.HasSuffix(text, "n to deny ›\n›\n"+status)
	})
}

// listed returns the short id with which /approve lists the question about a command.
func listed(t *testing.T, text, command string) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^(?:→|  ?) ?([0-9a-f]{8})  .*` + regexp.QuoteMeta(command)).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("the question about %s is not listed:\n%s", command, text)
	}
	return m[1]
}

// TestChatApprovesAnyOpenQuestion checks that /approve lists several open questions, and that
// /approve ID shows one of them and asks it. /approve does not approve a question that the screen
// has not shown.
func TestChatApprovesAnyOpenQuestion(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, width := range []int{80, 120} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			dir := t.TempDir()
			long := strings.Repeat(" and-more", 20)
			write(t, dir, "s", "turn\n  call bash {\"command\": \"echo ran-1\"}\n  call bash {\"command\": \"echo ran-2"+long+"\"}\nturn\n  text Understood.\n")
			s := onScreen(t, dir, width, "chat", "--model", "scripted/s", "--approve", "ask", "--confine", "off", "x")
			if text := s.asks("echo ran-1", asksHere); strings.Count(text, "? May bash run?") != 1 || strings.Count(text, "  question ") != 1 {
				t.Errorf("a question is shown more than once:\n%s", text)
			}
			s.enter("/approve")
			s.shows("/approve ID shows one of them and asks it\n")
			text := s.asks("echo ran-1", asksHere)
			first, second := listed(t, text, "echo ran-1"), listed(t, text, "echo ran-2")
			if !strings.Contains(text, "\n→ "+first+"  bash  echo ran-1\n") || !strings.Contains(text, "\n  "+second+"  bash  echo ran-2") {
				t.Errorf("the list is wrong:\n%s", text)
			}
			if strings.Contains(text[:strings.Index(text, "/approve ID shows")], "n to deny ›") {
				t.Errorf("the prompt is left above the list:\n%s", text)
			}
			s.enter("/approve ffff ")
			s.shows("the run has no question ffff; /approve lists those that are open\n")
			s.enter("/approve " + second + " y")
			s.shows("/approve takes one id")
			s.keys("/approve " + second[:4])
			s.shows("\n→ " + second + "  bash  echo")
			s.keys(keyTab)
			s.shows("› /approve " + second + "\n")
			s.keys(keyEnter)
			text = s.asks("echo ran-2", asksHere)
			shown := text[strings.LastIndex(text, "\n  question "):]
			if rows := strings.Split(shown, "\n")[2:5]; !strings.HasPrefix(rows[1], "  │ ") || width == 80 && !strings.HasPrefix(rows[2], "  │ ") {
				t.Errorf("the details are not indented:\n%s", shown)
			}
			if strings.Contains(text, "│ ran") || strings.Contains(text, "answered") {
				t.Errorf("it is approved before it was shown:\n%s", text)
			}
			s.enter("y")
			s.asks("echo ran-1", asksHere)
			s.enter("/approve " + second)
			s.shows("is not open any more: approved by ")
			s.enter("n")
			s.until("the question for the reason", func(text string) bool { return strings.HasSuffix(text, "reason (may be empty) ›\n›\n"+asksHere) })
			s.enter("/approve")
			s.shows("finish the answer that you have begun; nothing was sent\n")
			s.enter("too early")
			text = s.shows("Understood.")
			if !strings.Contains(text, "│ ran-2 and-more") || strings.Contains(text, "│ ran-1") || !strings.Contains(text, "✗ not run: it was denied: too early") || strings.Count(text, "? bash · approved by the data directory's token\n") != 1 {
				t.Errorf("the answers are wrong:\n%s", text)
			}
			s.ready()
			s.enter("/approve")
			s.shows("the run asks nothing\n")
			s.keys(keyCtrlD)
			s.ends(4)
		})
	}
}

// open commits a question of the run, as the agent's worker would. It does not wait for the answer.
func (c *claimedRun) open(key string, terms perdure.QuestionTerms, details string) uuid.UUID {
	c.a.Helper()
	n := perdure.NewQuestion{QuestionTerms: terms, Key: key, Details: []byte(details)}
	n.DetailsSHA256 = perdure.DetailsHash(n.Kind, n.Subject, n.Details)
	c.commit(perdure.Commit{Questions: []perdure.NewQuestion{n}})
	return perdure.QuestionID(c.lease.ExecutionID, key)
}

// TestChatApprovesWhileTheRunWorks checks that /approve can ask and approve a question while the
// run works, and that the answer approves the details that the screen showed. Esc leaves the
// question open, and the run continues. A question that the run has withdrawn cannot be approved.
func TestChatApprovesWhileTheRunWorks(t *testing.T) {
	longtest.Skip(t, "seconds")
	a := newAskingServer(t)
	const leaves = "scripted/s · the run asks you · Esc leaves the question open\n"
	s := onScreen(t, a.dir, 80, "chat", "--model", "scripted/s", "x")
	run := a.claim()
	first := run.open("first", deploy, `{"version": "1.2"}`)
	withdrawn := run.open("second", deploy, `{"version": "1.3"}`)
	s.shows("scripted/s · working · 2 questions are open: /approve · Esc stops the turn\n")
	s.enter("/approve")
	text := s.shows("/approve ID shows one of them and asks it\n")
	if at := strings.Index(text, "\n  "+withdrawn.String()[:8]); at < 0 || !strings.HasPrefix(text[at+1:][strings.Index(text[at+1:], "\n"):], "\n  "+first.String()[:8]+"  deploy  {\"version\":\"1.2\"}\n") {
		t.Errorf("the newest question is not first:\n%s", text)
	}
	s.enter("/approve " + first.String())
	s.asks(`{"version": "1.2"}`, leaves)
	s.keys(keyEsc)
	s.shows("the question stays open; /approve " + first.String()[:8] + " asks it again\n")
	s.shows("scripted/s · working · 2 questions are open: /approve · Esc stops the turn\n")
	s.enter("/approve " + withdrawn.String()[:8])
	s.asks(`{"version": "1.3"}`, leaves)
	run.commit(perdure.Commit{Withdraw: []uuid.UUID{withdrawn}})
	s.shows("the question is not open any more: withdrawn\n")
	s.enter("/approve " + withdrawn.String()[:8])
	s.shows("is not open any more: withdrawn\n")
	s.enter("/approve " + first.String()[:8])
	s.asks(`{"version": "1.2"}`, leaves)
	s.enter("y")
	s.shows("? deploy: Deploy it? · approved by ")
	if q := a.question(first); q.Answer.Verdict != perdure.VerdictApprove || q.DetailsSHA256 != perdure.DetailsHash(q.Kind, q.Subject, []byte(`{"version": "1.2"}`)) {
		t.Errorf("the answer is %+v", q.Answer)
	}
	run.ask("third", perdure.QuestionTerms{Kind: perdure.QuestionChoice, Prompt: "Which?", Choices: []perdure.QuestionOption{{Value: "red"}, {Value: "blue"}}}, "")
	s.until("the choice", func(text string) bool { return strings.HasSuffix(text, "number, or n to deny ›\n›\n"+asksHere) })
	s.enter("/approve")
	s.shows("this question takes a value: type it, or n to deny; nothing was sent\n")
	s.enter("2")
	a.claim().complete()
	s.ends(0)
}
