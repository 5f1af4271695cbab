package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
	"golang.org/x/sys/unix"
)

// tty is a running program whose standard input and output are a pseudo-terminal.
type tty struct {
	*testing.T
	cmd    *exec.Cmd
	screen *os.File
	out    *bufio.Reader
	read   strings.Builder
}

// inTerminal starts perdure with a new pseudo-terminal as its standard input and output.
func inTerminal(t *testing.T, dir string, args ...string) *tty {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(screen.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	side, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer side.Close()
	p := &tty{T: t, cmd: exec.Command("perdure", args...), screen: screen, out: bufio.NewReader(screen)}
	p.cmd.Dir, p.cmd.Env = dir, append(clean(dir), "TERM=dumb")
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = side, side, side
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		_ = screen.Close()
	})
	return p
}

// until reads the program's output until the output contains the text.
func (p *tty) until(text string) {
	p.Helper()
	for !strings.HasSuffix(p.read.String(), text) {
		b, err := p.out.ReadByte()
		if err != nil {
			p.Fatalf("no %q in\n%s", text, p.read.String())
		}
		p.read.WriteByte(b)
	}
}

func (p *tty) enter(line string) {
	p.Helper()
	if _, err := io.WriteString(p.screen, line+"\n"); err != nil {
		p.Fatal(err)
	}
}

func (p *tty) wantEnd(code int) {
	p.Helper()
	rest, _ := io.ReadAll(p.out) // a terminal without programs ends with an error
	_ = p.cmd.Wait()
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.Errorf("exit code %d, want %d\n%s%s", got, code, p.read.String(), rest)
	}
}

// TestRunAsksInPlace checks that perdure run, started in a terminal, asks the run's questions in that
// terminal. After the answer the run continues.
func TestRunAsksInPlace(t *testing.T) {
	a := newAskingServer(t)
	p := inTerminal(t, a.dir, "run", "--model", "scripted/s", "x")
	r := a.claim()
	first := r.ask("first", deploy, `{"version": "1.2"}`)
	p.until(`{"version": "1.2"}`)
	p.until("y to approve, n to deny › ")
	p.enter("perhaps")
	p.until("y or n")
	p.until("› ")
	p.enter("n not today")

	next := a.claim()
	if q := a.question(first); q.Answer.Verdict != perdure.VerdictDeny || q.Answer.Reason != "not today" {
		t.Errorf("the first answer is %+v", q.Answer)
	}
	second := next.ask("second", perdure.QuestionTerms{
		Kind: perdure.QuestionInput, Prompt: "How long?",
		Schema: json.RawMessage(`{"type":"object","required":["days"],"properties":{"days":{"type":"integer","minimum":1},"note":{"type":"string"},"sure":{"type":"boolean"}}}`),
	}, "")
	p.until("Enter to fill in the fields, JSON, or n to deny › ")
	p.enter("")
	p.until("days, integer › ")
	p.enter("many")
	p.until("a number")
	p.until("› ")
	p.enter("0")
	p.until("note, may be empty › ")
	p.enter("")
	p.until("sure, boolean, may be empty › ")
	p.enter("y")
	p.until("answer.days") // refused by the server, and asked again
	p.until("deny › ")
	p.enter(`{"days": 3}`)

	next = a.claim()
	if q := a.question(second); valueOf(q) != `{"days":3}` {
		t.Errorf("the second answer is %s", q.Answer.Value)
	}
	third := next.ask("third", perdure.QuestionTerms{
		Kind: perdure.QuestionChoice, Prompt: "Which?", Choices: []perdure.QuestionOption{{Value: "red"}, {Value: "blue"}},
	}, "")
	p.until("number, or n to deny › ")
	p.enter("2")
	next = a.claim()
	if q := a.question(third); string(q.Answer.Value) != `"blue"` {
		t.Errorf("the third answer is %s", q.Answer.Value)
	}
	next.complete()
	p.wantEnd(0)
}

// question returns the question with the id, as perdure questions --json prints it.
func (a *askingServer) question(id fmt.Stringer) perdure.Question {
	a.Helper()
	var list struct{ Items []perdure.Question }
	if err := json.Unmarshal([]byte(outputOf(a.T, a.dir, "questions", "--all", "--json")), &list); err != nil {
		a.Fatal(err)
	}
	for _, q := range list.Items {
		if q.ID.String() == id.String() {
			return q
		}
	}
	a.Fatalf("there is no question %s", id)
	return perdure.Question{}
}

// TestAQuestionIsDecidedWhileTheTerminalAsks checks what the terminal prints if another person
// answers a question while the terminal still waits for an answer.
func TestAQuestionIsDecidedWhileTheTerminalAsks(t *testing.T) {
	longtest.Skip(t, "seconds")
	a := newAskingServer(t)
	p := inTerminal(t, a.dir, "run", "--model", "scripted/s", "x")
	id := a.claim().ask("one", deploy, "")
	p.until("y to approve, n to deny › ")
	launch(t, a.dir, "answer", id.String(), "deny").wantEnd(0)
	p.until("answered elsewhere: denied by ")
	a.claim().complete()
	p.wantEnd(0)
}

// TestRunEditsInPlace checks that the reply "e" to a question opens the question's details in an editor.
// The details that the person saves there are approved.
func TestRunEditsInPlace(t *testing.T) {
	longtest.Skip(t, "seconds")
	a := newAskingServer(t)
	editor := filepath.Join(a.dir, "editor")
	if err := os.WriteFile(editor, []byte("#!/bin/sh\nsed -i s/1.2/1.3/ \"$2\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("VISUAL", editor+" --wait")
	p := inTerminal(t, a.dir, "run", "--model", "scripted/s", "x")
	editable := deploy
	editable.Edit = perdure.EditClient
	id := a.claim().ask("first", editable, `{"version": "1.2"}`)
	p.until("y to approve, e to edit, n to deny › ")
	p.enter("e")
	next := a.claim()
	if q := a.question(id); q.Status != perdure.QuestionAnswered || !q.Edited() || q.DetailsSHA256 != perdure.DetailsHash(q.Kind, q.Subject, []byte(`{"version":"1.3"}`)) {
		t.Errorf("the question is %+v", q)
	}
	next.complete()
	p.wantEnd(0)
}

// TestRunRemembersInPlace checks that the reply "r" to a question approves the call and remembers the
// approval. The server then answers the next question about such a call, and the terminal does not ask.
func TestRunRemembersInPlace(t *testing.T) {
	longtest.Skip(t, "seconds")
	a := newAskingServer(t)
	p := inTerminal(t, a.dir, "run", "--model", "scripted/s", "x")
	call := perdure.QuestionTerms{Kind: perdure.QuestionApproval, Subject: "bash"}
	first := a.claim().ask("first", call, `{"command":"ls"}`)
	p.until("y to approve, r to approve and remember, v to view all, n to deny › ")
	p.enter("r often")
	p.until("r tool (every call of the tool)")
	p.until("› ")
	p.enter("r tool")
	next := a.claim()
	if q := a.question(first); q.Answer.Verdict != perdure.VerdictApprove || q.Votes[0].Remember == nil || q.Votes[0].Remember.Match != perdure.GrantTool {
		t.Errorf("the first answer is %+v", q.Answer)
	}
	second := next.ask("second", call, `{"command":"pwd"}`) // the run waits for the answer, and the server gives it at once
	next = a.claim()
	if q := a.question(second); q.Answer == nil || q.Answer.By != perdure.AnsweredByGrant {
		t.Errorf("the second answer is %+v", q.Answer)
	}
	var grants struct{ Items []perdure.ApprovalGrant }
	if err := json.Unmarshal([]byte(outputOf(t, a.dir, "grants", "--json")), &grants); err != nil || len(grants.Items) != 1 {
		t.Fatalf("the grants are %+v, %v", grants, err)
	}
	if text := outputOf(t, a.dir, "grants"); !strings.Contains(text, "bash, every call") || strings.Contains(text, "[") {
		t.Errorf("perdure grants prints %s", text)
	}
	launch(t, a.dir, "grants", "revoke", grants.Items[0].ID.String()).wantEnd(0)
	if text := outputOf(t, a.dir, "grants"); text != "no grants" {
		t.Errorf("after the revocation it prints %q", text)
	}
	third := next.ask("third", call, `{"command":"pwd"}`)
	p.until("n to deny › ")
	launch(t, a.dir, "answer", third.String(), "deny", "--remember", "run").wantEnd(2)
	launch(t, a.dir, "answer", third.String(), "approve", "--for", "8h").wantEnd(2)
	launch(t, a.dir, "answer", third.String(), "approve", "--remember", "org").wantEnd(2, "--remember org is not known")
	launch(t, a.dir, "answer", third.String(), "approve", "--remember", "run:tool", "--for", "9999h").wantEnd(2, "--for is longer than 366 days", "at most 8784h")
	launch(t, a.dir, "answer", third.String(), "approve", "--remember", "run", "--for", "8h").wantEnd(0)
	p.until("answered elsewhere: approved by ")
	a.claim().complete()
	p.wantEnd(0)
}

// TestCtrlCStopsATurnOfAChat checks that the first Ctrl-C in a chat stops the turn, and that the run then
// accepts the next line. A second Ctrl-C during the same turn leaves the run.
func TestCtrlCStopsATurnOfAChat(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "s", "pace 50ms\nturn\n  text "+strings.Repeat("many words ", 500)+"\nturn\n  text Hello again.\nturn\n  text "+strings.Repeat("more words ", 500)+"\n")
	p := inTerminal(t, dir, "run", "--chat", "--model", "scripted/s", "x")
	p.until("many words")
	p.signal()
	p.until("Ctrl-C again leaves the run")
	p.until("you have stopped the turn")
	p.until("› ")
	p.enter("are you there?")
	p.until("Hello again.")
	p.until("› ")
	p.enter("go on")
	p.until("more words")
	p.signal()
	p.until("Ctrl-C again leaves the run")
	p.signal()
	p.wantEnd(130)
}

func (p *tty) signal() {
	p.Helper()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		p.Fatal(err)
	}
}
