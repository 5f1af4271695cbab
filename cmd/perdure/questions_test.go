package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/server"
)

// askingServer is a server on the data directory in a test's folder. The test itself is the worker,
// and asks the questions.
type askingServer struct {
	*testing.T
	dir    string
	server *server.Server
	worker perdure.Dispatch
	id     uuid.UUID
}

func newAskingServer(t *testing.T) *askingServer {
	t.Helper()
	return newAskingAt(t, "")
}

// newAskingAt is like newAskingServer, but its server also listens at the address, if that is not "".
func newAskingAt(t *testing.T, address string) *askingServer {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "s", "turn\n  text hi\n")
	launch(t, dir, "runs").wantEnd(0) // creates the store
	s, err := server.Open(t.Context(), server.Config{Data: filepath.Join(dir, "d"), HTTPAddr: address, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	if err := (connection.Owner{Kind: connection.OwnerDev, Workspace: dir}).Write(filepath.Join(dir, "d")); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		<-ended
		_ = s.Close()
	})
	a := &askingServer{t, dir, s, s.Dispatch("default"), uuid.New()}
	_, err = a.worker.Register(t.Context(), perdure.Registration{
		WorkerID: a.id, Queues: []string{"default"}, Features: perdure.AllFeatures,
		Agents: []perdure.KindSpec{{Kind: perdure.ReactKind, Providers: []string{"scripted"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// claimedRun is a run that the test has claimed as its worker.
type claimedRun struct {
	a      *askingServer
	lease  perdure.Lease
	number int64
}

func (a *askingServer) claim() *claimedRun {
	a.Helper()
	claims, err := a.worker.PollAgents(a.Context(), perdure.Poll{
		WorkerID: a.id, Queues: []string{"default"}, Kinds: []string{perdure.ReactKind}, Slots: 1, Wait: time.Minute, Features: perdure.AllFeatures,
	})
	if err != nil || len(claims) != 1 {
		a.Fatalf("%d claims, %v", len(claims), err)
	}
	return &claimedRun{a: a, lease: claims[0].Lease}
}

func (c *claimedRun) commit(change perdure.Commit) {
	c.a.Helper()
	c.number++
	change.Lease, change.Number = c.lease, c.number
	if _, err := c.a.worker.Commit(context.WithoutCancel(c.a.Context()), change); err != nil {
		c.a.Fatal(err)
	}
}

// ask asks a question and suspends the run, which then waits for the answer.
func (c *claimedRun) ask(key string, terms perdure.QuestionTerms, details string) uuid.UUID {
	c.a.Helper()
	n := perdure.NewQuestion{QuestionTerms: terms, Key: key}
	if details != "" {
		n.Details = json.RawMessage(details)
	}
	n.DetailsSHA256 = perdure.DetailsHash(n.Kind, n.Subject, n.Details)
	id := perdure.QuestionID(c.lease.ExecutionID, key)
	wait := perdure.WaitQuestion(id)
	c.commit(perdure.Commit{Questions: []perdure.NewQuestion{n}, Outcome: perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: &wait}})
	return id
}

func (c *claimedRun) complete() {
	c.a.Helper()
	c.commit(perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeComplete, Output: perdure.Inline([]byte(`{"text":"Bye.","stopReason":"end_turn"}`))}})
}

// valueOf returns the value in the answer to a question, as JSON without white space.
func valueOf(q perdure.Question) string {
	var b bytes.Buffer
	if err := json.Compact(&b, q.Answer.Value); err != nil {
		return err.Error()
	}
	return b.String()
}

var deploy = perdure.QuestionTerms{Kind: "plan", Subject: "deploy", Prompt: "Deploy it?"}

// TestQuestionsAndAnswers checks the commands that list questions, show one, answer it, and show the
// outcome.
func TestQuestionsAndAnswers(t *testing.T) {
	a := newAskingServer(t)
	p := launch(t, a.dir, "run", "--model", "scripted/s", "Ship it")
	r := a.claim()
	id := r.ask("one", deploy, `{"version": "1.2", "odd": "\u202e"}`).String()
	run := r.lease.ExecutionID.String()
	p.wantEnd(4, "Deploy it?", "perdure answer "+id+" approve|deny", "asks · ")

	launch(t, a.dir, "runs").wantEnd(0, "asks")
	launch(t, a.dir, "questions").wantEnd(0, id, "open", "plan", run, "deploy: Deploy it?")
	launch(t, a.dir, "questions", "--kind", "other").wantEnd(0, "no questions")
	launch(t, a.dir, "questions", "--run", "x").wantEnd(2, "x is no id of a run")
	launch(t, a.dir, "grants", "--run", "x").wantEnd(2, "x is no id of a run")
	launch(t, a.dir, "questions", "--run", "last").wantEnd(0, id)
	launch(t, a.dir, "grants", "--run", "last").wantEnd(0, "no grants")
	launch(t, a.dir, "answer", id, "perhaps").wantEnd(2, "it takes approve or deny")
	launch(t, a.dir, "answer", "x", "deny").wantEnd(2, "x is no id of a question")
	launch(t, a.dir, "answer", uuid.NewString(), "deny").wantEnd(1, "there is no question")

	out := launch(t, a.dir, "answer", id, "approve", "--reason", "tested").wantEnd(0, run+" Ship it", "plan: deploy", `{"version": "1.2"`, "approved by ", "(tested)")
	if strings.Contains(out, "details:") {
		t.Errorf("what is answered is on standard output:\n%s", out)
	}
	launch(t, a.dir, "answer", id, "deny").wantEnd(1, "it was decided before: approved by ")
	launch(t, a.dir, "questions").wantEnd(0, "no questions")
	launch(t, a.dir, "questions", "--all").wantEnd(0, "answered (approve)")
	a.claim().complete()
	launch(t, a.dir, "show", run).wantEnd(0, "? deploy: Deploy it?", "approved by ", "completed")
	launch(t, a.dir, "tail", run).wantEnd(0, "? deploy: Deploy it?", "approved by ", "completed")
	var shown struct{ Questions []perdure.Question }
	if err := json.Unmarshal([]byte(outputOf(t, a.dir, "show", run, "--json")), &shown); err != nil || len(shown.Questions) != 1 || shown.Questions[0].Answer.Reason != "tested" {
		t.Errorf("show --json has the questions %+v, %v", shown.Questions, err)
	}
}

// TestAnswersWithValues checks that perdure answer accepts a value as JSON and a choice by its name.
// The error for an unsuitable value names the wrong member of the value.
func TestAnswersWithValues(t *testing.T) {
	longtest.Skip(t, "seconds")
	a := newAskingServer(t)
	launch(t, a.dir, "run", "--detach", "--model", "scripted/s", "x").wantEnd(0)
	form := a.claim().ask("form", perdure.QuestionTerms{
		Kind: perdure.QuestionInput, Prompt: "How long?", Schema: json.RawMessage(`{"type":"object","required":["days"],"properties":{"days":{"type":"integer"}}}`),
	}, "").String()
	launch(t, a.dir, "answer", form, "approve").wantEnd(2, "it takes a value as JSON", "days  integer, required", "perdure answer "+form+` '{"days":1}'`)
	launch(t, a.dir, "answer", form, `{"days":"two"}`).wantEnd(2, "answer.days")
	var q perdure.Question
	if err := json.Unmarshal([]byte(outputOf(t, a.dir, "answer", form, `{"days": 2}`, "--json", "--id", "a")), &q); err != nil || valueOf(q) != `{"days":2}` {
		t.Errorf("the answer is %+v, %v", q.Answer, err)
	}
	launch(t, a.dir, "answer", form, `{"days": 2}`, "--id", "a").wantEnd(0, "answered {") // repeats the answer with the id a
	r := a.claim()
	r.number = 0
	pick := r.ask("pick", perdure.QuestionTerms{
		Kind: perdure.QuestionChoice, Prompt: "Which?", Choices: []perdure.QuestionOption{{Value: "red"}, {Value: "blue", Label: "Blue"}},
	}, "").String()
	launch(t, a.dir, "answer", pick, "green").wantEnd(2, "green is none of the choices", "perdure answer "+pick+" red\n", "perdure answer "+pick+" blue\n", "deny --reason")
	launch(t, a.dir, "answer", pick, "blue").wantEnd(0, `answered "blue"`, "2  blue (Blue)")
}

// TestWatchingQuestions checks that perdure questions --watch prints the open questions, and then
// each change of a question.
func TestWatchingQuestions(t *testing.T) {
	longtest.Skip(t, "seconds")
	a := newAskingServer(t)
	launch(t, a.dir, "run", "--detach", "--model", "scripted/s", "x").wantEnd(0)
	r := a.claim()
	first := r.ask("one", deploy, "").String()
	p := launch(t, a.dir, "questions", "--watch")
	p.until(first + "  open  deploy: Deploy it?")
	launch(t, a.dir, "answer", first, "deny").wantEnd(0)
	p.until(first + "  answered (deny)")
	launch(t, a.dir, "questions", "--watch", "--all").wantEnd(2)
}

// TestResumeOfARunThatAsks checks perdure resume for a run that already waits for the answer to a
// question. The log already contains the event of this wait, so the command must not wait for another
// event.
func TestResumeOfARunThatAsks(t *testing.T) {
	longtest.Skip(t, "seconds")
	a := newAskingServer(t)
	launch(t, a.dir, "run", "--detach", "--model", "scripted/s", "x").wantEnd(0)
	id := a.claim().ask("one", deploy, "").String()
	launch(t, a.dir, "resume", "last").wantEnd(4, "perdure answer "+id)
	launch(t, a.dir, "run", "--quiet", "--detach", "--model", "scripted/s", "x").wantEnd(0)
}

// TestAnEditByCommand checks that perdure approve --edit approves changed details in place of the
// question's details, if the question permits edits.
func TestAnEditByCommand(t *testing.T) {
	longtest.Skip(t, "seconds")
	a := newAskingServer(t)
	launch(t, a.dir, "run", "--detach", "--model", "scripted/s", "x").wantEnd(0)
	editable := deploy
	editable.Edit = perdure.EditClient
	r := a.claim()
	fixed := r.ask("fixed", deploy, `{"v":1}`).String()
	launch(t, a.dir, "answer", fixed, "approve", "--edit", `{"v":2}`).wantEnd(1, "may not change the details")
	launch(t, a.dir, "answer", fixed, "deny", "--edit", `{"v":2}`).wantEnd(2, "--edit stands only beside approve")
	launch(t, a.dir, "answer", fixed, "deny").wantEnd(0)
	r = a.claim()
	r.number = 0
	id := r.ask("one", editable, `{"v":1}`).String()
	launch(t, a.dir, "answer", id, "approve", "--edit", `{"v":`).wantEnd(2, "--edit is no JSON")
	launch(t, a.dir, "answer", id, "approve", "--edit", `{"v":2}`).wantEnd(0, "approved by ")
	launch(t, a.dir, "questions", "--all").wantEnd(0, "answered (approve)")
}
