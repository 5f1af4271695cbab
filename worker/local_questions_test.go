package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/engine/questions"
	"github.com/perdure/perdure/internal/longtest"
)

// secretQuestion returns a question that has the text of `secret` in each part that is content.
func secretQuestion(name string) agent.Question {
	return agent.Question{
		Name: name, Prompt: secret + " prompt", Details: map[string]string{"about": secret + " details"},
		Schema:  json.RawMessage(`{"type":"object","required":["text"],"properties":{"text":{"type":"string","title":"` + secret + ` schema"}}}`),
		Expires: time.Hour, OnExpiry: perdure.OnExpiryDefault, Default: map[string]string{"text": secret + " default"},
	}
}

// shownQuestion returns the execution's question with this key, as clients see it.
func (b *bench) shownQuestion(id uuid.UUID, key string) *perdure.Question {
	b.Helper()
	q, err := b.e.Read().Question(b.Context(), org, perdure.QuestionID(id, key))
	if err == nil {
		err = b.e.Questions.Show(b.Context(), org, q)
	}
	if err != nil {
		b.Fatal(err)
	}
	return q
}

// vote answers the execution's question with this key, and returns the error.
func (b *bench) vote(id uuid.UUID, key string, r questions.AnswerRequest) error {
	b.Helper()
	r.Question, r.Role = perdure.QuestionID(id, key), perdure.KeyAdmin
	if r.DetailsSHA256 == nil {
		q, err := b.s.Question(b.Context(), org, r.Question)
		if err != nil {
			b.Fatal(err)
		}
		r.DetailsSHA256 = &q.DetailsSHA256
	}
	_, err := b.e.Answer(b.Context(), org, r)
	return err
}

// TestNothingOfALocalQuestionIsAtRest checks the files of the server for a question of a LOCAL
// execution. They contain no content of the question while it is open, and no content of the answer
// once the run has taken it. The server then reads the answer from the worker. The same contents of
// a REMOTE execution are found in the files.
func TestNothingOfALocalQuestionIsAtRest(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			b := newBench(t, 20*time.Second)
			b.mode = mode
			b.agent("a", func(ctx agent.Context) (string, error) {
				first, err := ctx.Ask(secretQuestion("form"))
				if err != nil {
					return "", err
				}
				pick := agent.Question{Name: "pick", Choices: []perdure.QuestionOption{{Value: secret, Label: secret + " label"}}}
				second, err := ctx.Ask(pick)
				if err != nil {
					return "", err
				}
				ctx.OpenQuestion(agent.Question{Name: "unread", Prompt: secret})
				_, err = ctx.WaitSignal("go", 0)
				return string(first.Value) + string(second.Value) + second.Reason, err
			})
			b.work()
			id := b.start("a")
			b.asked(id, "form")
			if n := inFiles(t, b.folder); mode == perdure.Local && len(n) > 0 {
				t.Errorf("an open question is in %v", n)
			} else if mode == perdure.Remote && len(n) == 0 {
				t.Error("the search finds nothing at all")
			}
			q := b.shownQuestion(id, "form")
			if q.Prompt != secret+" prompt" || string(q.Details) != `{"about":"`+secret+` details"}` || !strings.Contains(string(q.Schema), secret) || q.Default == nil || q.OnWorker() {
				t.Errorf("the question is shown as %+v", q)
			}
			value := `{"text":"` + secret + ` answer"}`
			if err := b.vote(id, "form", questions.AnswerRequest{Verdict: perdure.VerdictAnswer, Value: json.RawMessage(value), Reason: secret + " reason"}); err != nil {
				t.Fatal(err)
			}
			b.asked(id, "pick")
			if q := b.shownQuestion(id, "form"); string(q.Answer.Value) != value || q.Answer.Reason != secret+" reason" || q.Answer.OnWorker() {
				t.Errorf("the answer is shown as %+v", q.Answer)
			}
			if err := b.vote(id, "pick", questions.AnswerRequest{Verdict: perdure.VerdictAnswer, Value: json.RawMessage(`"` + secret + `"`), Reason: secret}); err != nil {
				t.Fatal(err)
			}
			b.waiting(id, "signal")
			if mode == perdure.Local {
				eventually(t, "the taken answers to be erased", func() bool { return len(inFiles(t, b.folder)) == 0 })
			}
			if err := b.vote(id, "unread", questions.AnswerRequest{Verdict: perdure.VerdictApprove, Reason: secret + " unread"}); err != nil {
				t.Fatal(err)
			}
			b.signal(id, "go", "1")
			b.ended(id, perdure.StatusCompleted)
			if mode == perdure.Local {
				eventually(t, "everything to be erased at the end", func() bool { return len(inFiles(t, b.folder)) == 0 })
			}
			want := fmt.Sprintf("%q", value+`"`+secret+`"`+secret)
			x := b.execution(id)
			if got := string(b.content(id, x.Output, x.OutputBlob)); got != want {
				t.Errorf("the agent has read %s, want %s", got, want)
			}
		})
	}
}

// TestALocalQuestionWithoutItsWorker checks a question of a LOCAL execution whose worker is not
// connected. The question can be denied, but neither approved nor answered. When the worker is
// connected again, the run reads the denial.
func TestALocalQuestionWithoutItsWorker(t *testing.T) {
	b := newBench(t, 20*time.Second)
	b.mode = perdure.Local
	b.agent("a", func(ctx agent.Context) (string, error) {
		form, sure := ctx.OpenQuestion(secretQuestion("form")), ctx.OpenQuestion(agent.Question{Name: "sure", Prompt: "Sure?", Details: 1})
		met, err := ctx.WaitAny(0, agent.OnAll(agent.OnQuestion(form), agent.OnQuestion(sure)))
		if err != nil {
			return "", err
		}
		return fmt.Sprint(met.Questions[0].Answer.Verdict, " ", met.Questions[0].Answer.Reason, " ", met.Questions[1].Answer.Verdict), nil
	})
	kept := b.newStore()
	home := func(c *Config) { c.Local = kept }
	w := b.work(home)
	id := b.start("a")
	b.waiting(id, "question")
	w.stop()
	if q := b.shownQuestion(id, "form"); q.Prompt != "" || !q.OnWorker() || q.ContentSHA256 == "" || q.ContentBytes == 0 || q.Withheld != nil {
		t.Errorf("without its worker, it is shown as %+v", q)
	}
	for key, r := range map[string]questions.AnswerRequest{
		"form": {Verdict: perdure.VerdictAnswer, Value: json.RawMessage(`{"text":"x"}`)},
		"sure": {Verdict: perdure.VerdictApprove},
	} {
		if err := b.vote(id, key, r); !perdure.IsCode(err, perdure.Unavailable) || !strings.Contains(err.Error(), "only be denied") {
			t.Errorf("%s without the worker: %v", key, err)
		}
	}
	deny := questions.AnswerRequest{Verdict: perdure.VerdictDeny, Reason: "not without you", AnswerID: "no"}
	for range 2 { // the repeated call returns the first result
		if err := b.vote(id, "form", deny); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.vote(id, "form", questions.AnswerRequest{Verdict: perdure.VerdictAnswer, Value: json.RawMessage(`{}`)}); !perdure.IsCode(err, perdure.QuestionDecided) {
		t.Errorf("an answer after the denial: %v", err)
	}
	b.work(home)
	eventually(t, "the worker to serve its contents", func() bool { return b.shownQuestion(id, "sure").Prompt == "Sure?" })
	if err := b.vote(id, "sure", questions.AnswerRequest{Verdict: perdure.VerdictApprove}); err != nil {
		t.Fatal(err)
	}
	b.output(id, "deny not without you approve")
}

// TestAnswersToLocalQuestionsAreChecked checks that the server reads the schema, the choices or the
// details of a LOCAL question from the worker. The server compares answers and approvals with what
// it has read.
func TestAnswersToLocalQuestionsAreChecked(t *testing.T) {
	b := newBench(t, 20*time.Second)
	b.mode = perdure.Local
	b.agent("a", func(ctx agent.Context) (string, error) {
		all := []agent.Condition{agent.OnQuestion(ctx.OpenQuestion(secretQuestion("form")))}
		pick := agent.Question{Name: "pick", Choices: []perdure.QuestionOption{{Value: "red"}, {Value: "blue"}}}
		sure := agent.Question{Name: "sure", Details: map[string]int{"hosts": 3}, Edit: perdure.EditClient}
		for _, q := range []agent.Question{pick, sure} {
			all = append(all, agent.OnQuestion(ctx.OpenQuestion(q)))
		}
		met, err := ctx.WaitAny(0, agent.OnAll(all...))
		if err != nil {
			return "", err
		}
		if err := ctx.Checkpoint(1); err != nil {
			return "", err
		}
		again, err := ctx.AwaitQuestion(agent.NewQuestionRef(perdure.QuestionID(ctx.ID(), "sure")))
		return fmt.Sprintf("%s %s %s %s", met.Questions[0].Answer.Value, met.Questions[1].Answer.Value, met.Questions[2].Details, again.Details), err
	})
	b.work()
	id := b.start("a")
	b.waiting(id, "question")
	other := perdure.DetailsHash(perdure.QuestionApproval, "", []byte("2"))
	for _, c := range []struct {
		key  string
		r    questions.AnswerRequest
		code perdure.Code
		in   string
	}{
		{"form", questions.AnswerRequest{Verdict: perdure.VerdictAnswer, Value: json.RawMessage(`{"text":1}`)}, perdure.InvalidArgument, "answer.text"},
		{"form", questions.AnswerRequest{Verdict: perdure.VerdictApprove}, perdure.InvalidArgument, "verdict"},
		{"pick", questions.AnswerRequest{Verdict: perdure.VerdictAnswer, Value: json.RawMessage(`"green"`)}, perdure.InvalidArgument, "red"},
		{"sure", questions.AnswerRequest{Verdict: perdure.VerdictApprove, DetailsSHA256: &other}, perdure.DetailsChanged, "other details"},
		{"sure", questions.AnswerRequest{Verdict: perdure.VerdictApprove, Remember: &perdure.Remember{Scope: perdure.GrantRun, Match: perdure.GrantTool}}, perdure.InvalidArgument, "remember"},
	} {
		if err := b.vote(id, c.key, c.r); !perdure.IsCode(err, c.code) || !strings.Contains(err.Error(), c.in) {
			t.Errorf("%s: %v, want %s with %s", c.key, err, c.code, c.in)
		}
	}
	for key, r := range map[string]questions.AnswerRequest{
		"form": {Verdict: perdure.VerdictAnswer, Value: json.RawMessage(`{"text":"x"}`)},
		"pick": {Verdict: perdure.VerdictAnswer, Value: json.RawMessage(`"blue"`)},
		"sure": {Verdict: perdure.VerdictApprove, Details: json.RawMessage(`{"hosts": 2}`)},
	} {
		if err := b.vote(id, key, r); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	b.output(id, `{"text":"x"} "blue" {"hosts": 2} {"hosts": 2}`)
	q := b.shownQuestion(id, "sure")
	if string(q.Details) != `{"hosts": 2}` || len(q.Votes) != 1 || q.Votes[0].EditedFrom == nil {
		t.Errorf("the edited question is shown as %+v", q)
	}
	if stored, err := b.s.Question(t.Context(), org, q.ID); err != nil || stored.Details != nil || stored.Answer.Withheld == nil {
		t.Errorf("the edit is stored as %+v, %v", stored, err)
	}
}

// TestLocalQuestionsThatAreRefused checks that the worker compares the default answer of a LOCAL
// execution's question with the question's schema. The run continues after the error.
func TestLocalQuestionsThatAreRefused(t *testing.T) {
	b := newBench(t, 20*time.Second)
	b.mode = perdure.Local
	b.agent("a", func(ctx agent.Context) (string, error) {
		misfit := secretQuestion("misfit")
		misfit.Default = 1
		broken := secretQuestion("broken")
		broken.Schema, broken.OnExpiry, broken.Default = json.RawMessage(`{"type":"nothing"}`), "", nil
		for field, q := range map[string]agent.Question{"default": misfit, "schema": broken} {
			if _, err := ctx.Ask(q); !perdure.IsCode(err, perdure.InvalidArgument) || !strings.Contains(err.Error(), field) {
				return "", fmt.Errorf("%s: %w", field, err)
			}
		}
		_, err := agent.Step(ctx, "s", func(context.Context) (int, error) { return 1, nil })
		return "fine", err
	})
	b.work()
	b.output(b.start("a"), "fine")
}

// TestAPromotedRunKeepsItsQuestions checks that the questions and answers of a LOCAL execution are
// complete after the execution has become REMOTE, for clients and for another worker that enters
// the function again.
func TestAPromotedRunKeepsItsQuestions(t *testing.T) {
	b := newBench(t, 5*time.Second)
	b.mode = perdure.Local
	b.agent("a", func(ctx agent.Context) (string, error) {
		answer, err := ctx.Ask(secretQuestion("form"))
		if err != nil {
			return "", err
		}
		late := secretQuestion("late")
		late.Expires = time.Millisecond
		filled, err := ctx.Ask(late)
		if err != nil {
			return "", err
		}
		open := ctx.OpenQuestion(agent.Question{Name: "open", Prompt: "Now?", Details: 1})
		if _, err := ctx.WaitSignal("go", 0); err != nil {
			return "", err
		}
		final, err := ctx.AwaitQuestion(open)
		if err != nil {
			return "", err
		}
		return fmt.Sprint(string(answer.Value), answer.Reason, string(filled.Value), final.Answer.Reason), nil
	})
	w := b.work()
	id := b.start("a")
	b.asked(id, "form")
	b.answer(id, "form", perdure.Answer{Verdict: perdure.VerdictAnswer, Value: json.RawMessage(`{"text":"x"}`), Reason: "so"})
	b.waiting(id, "signal")
	if _, err := b.e.Promote(t.Context(), org, id); err != nil {
		t.Fatal(err)
	}
	w.stop()
	if q := b.shownQuestion(id, "open"); q.Prompt != "Now?" || q.OnWorker() {
		t.Errorf("after the promotion, the open question is %+v", q)
	}
	if q := b.shownQuestion(id, "form"); string(q.Answer.Value) != `{"text":"x"}` || q.Answer.Reason != "so" || q.Prompt == "" {
		t.Errorf("after the promotion, the answered question is %+v with %+v", q, q.Answer)
	}
	b.answer(id, "open", approved)
	b.work(func(c *Config) { c.Dispatch = b.overWire() })
	b.signal(id, "go", "1")
	b.output(id, `{"text":"x"}so{"text":"`+secret+` default"}tested`)
}

// TestLocalQuestionsOutlastAKillAtEveryWrite kills a worker at each of its writes, before and after
// the write arrives. It checks that each question is asked once, and that the function gets the
// answer again, even after the server has erased it.
func TestLocalQuestionsOutlastAKillAtEveryWrite(t *testing.T) {
	longtest.Skip(t, "seconds")
	first, step := longtest.Stride(t, 4)
	for _, after := range []bool{false, true} {
		for at, came := first, true; came && !t.Failed(); at += step {
			came = false
			t.Run(fmt.Sprintf("write %d, arrives %v", at, after), func(t *testing.T) {
				if came = killedAsker(t, at, after); !came && at == first {
					t.Error("nothing was killed")
				}
			})
		}
	}
}

// killedAsker runs an agent that asks two questions, and kills its worker at write number `at`. If
// `after` is true, that write still arrives at the server. killedAsker reports whether the kill
// happened.
func killedAsker(t *testing.T, at int, after bool) bool {
	b := newBench(t, 20*time.Second)
	b.mode = perdure.Local
	b.agent("a", func(ctx agent.Context) (string, error) {
		said := ""
		for _, name := range []string{"one", "two"} {
			answer, err := ctx.Ask(secretQuestion(name))
			if err != nil {
				return "", err
			}
			said += string(answer.Value) + answer.Reason
			if _, err := agent.Step(ctx, name, func(context.Context) (int, error) { return 1, nil }); err != nil {
				return "", err
			}
			if err := ctx.Flush(); err != nil {
				return "", err
			}
		}
		return said, nil
	})
	store := b.newStore()
	b.known("a")
	id := b.start("a")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		answered := map[string]bool{}
		b.until(id, "it to end", func(x *perdure.Execution) bool {
			for _, name := range []string{"one", "two"} {
				q, err := b.s.Question(context.WithoutCancel(b.Context()), org, perdure.QuestionID(id, name))
				if err == nil && !answered[name] {
					value := json.RawMessage(`{"text":"` + name + `"}`)
					r := questions.AnswerRequest{Question: q.ID, Role: perdure.KeyAdmin, Verdict: perdure.VerdictAnswer, Value: value, Reason: name}
					_, err = b.e.Answer(context.WithoutCancel(b.Context()), org, r)
					answered[name] = err == nil // an error is possible: the worker may not be connected
				}
			}
			return x.Status.Terminal()
		})
	}()
	came := b.supervise(at, after, store, ended, func(c *Config) { c.Parked = -1 })
	<-ended
	b.output(id, `{"text":"one"}one{"text":"two"}two`)
	if asked := b.count(id, perdure.EventQuestionAsked); asked != 2 {
		t.Errorf("%d questions were asked", asked)
	}
	return came
}

// TestLargeDetailsOfAQuestion checks questions whose details are too large for a row of the
// database. People read the details and approve them. The files of the server do not contain the
// details of a LOCAL question.
func TestLargeDetailsOfAQuestion(t *testing.T) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			b := newBench(t, 20*time.Second)
			b.mode = mode
			text := strings.Repeat(secret+" ", 40<<10/len(secret))
			b.agent("a", func(ctx agent.Context) (string, error) {
				yes, _, err := agent.Confirm(ctx, "large", "may I?", map[string]string{"text": text})
				return fmt.Sprint(yes), err
			})
			b.work()
			id := b.start("a")
			b.asked(id, "large")
			q := b.shownQuestion(id, "large")
			if want := int64(len(text) + len(`{"text":""}`)); q.Details != nil || q.DetailsBytes != want {
				t.Errorf("a list has %d bytes of the details, and says %d, want none and %d", len(q.Details), q.DetailsBytes, want)
			}
			details, err := b.e.Questions.Details(t.Context(), q)
			if err != nil || string(details) != `{"text":"`+text+`"}` {
				t.Errorf("the details are %d bytes, %v", len(details), err)
			}
			if n := inFiles(t, b.folder); (mode == perdure.Local) != (len(n) == 0) {
				t.Errorf("the details are in %v", n)
			}
			if err := b.vote(id, "large", questions.AnswerRequest{Verdict: perdure.VerdictApprove}); err != nil {
				t.Fatal(err)
			}
			if got := string(b.content(id, b.ended(id, perdure.StatusCompleted).Output, nil)); mode == perdure.Remote && got != `"true"` {
				t.Errorf("the agent has read %s", got)
			}
		})
	}
}
