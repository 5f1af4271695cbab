package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/engine/questions"
	"github.com/perdure/perdure/internal/longtest"
)

// answer answers the execution's question with this key.
func (b *bench) answer(id uuid.UUID, key string, a perdure.Answer) {
	b.Helper()
	question := perdure.QuestionID(id, key)
	q, err := b.s.Question(b.Context(), org, question)
	if err != nil {
		b.Fatal(err)
	}
	_, err = b.e.Answer(b.Context(), org, questions.AnswerRequest{
		Question: question, Verdict: a.Verdict, Value: a.Value, Reason: a.Reason, DetailsSHA256: &q.DetailsSHA256, Role: perdure.KeyAdmin,
	})
	if err != nil {
		b.Fatal(err)
	}
}

var approved = perdure.Answer{Verdict: perdure.VerdictApprove, Reason: "tested"}

// everyMode runs a test as everyWay does, in each persistence mode.
func everyMode(t *testing.T, lease time.Duration, test func(b *bench, way func(*Config))) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			everyWay(t, lease, func(b *bench, way func(*Config)) {
				b.mode = mode
				test(b, way)
			})
		})
	}
}

// input returns a question to which every JSON object is an answer.
func input(name string) agent.Question {
	return agent.Question{Name: name, Prompt: "Which?", Schema: json.RawMessage(`{"type":"object"}`)}
}

// TestAsk checks that an agent gets the answers to its questions, and gets the same answers when
// its function is entered again.
func TestAsk(t *testing.T) {
	everyMode(t, 20*time.Second, func(b *bench, way func(*Config)) {
		b.agent("a", func(ctx agent.Context) (string, error) {
			said := ""
			for _, q := range []agent.Question{input("version"), {Name: "sure", Details: map[string]int{"hosts": 3}}, {Name: "sure", Instance: "2"}} {
				final, err := ctx.AwaitQuestion(ctx.OpenQuestion(q))
				if err != nil {
					return "", err
				}
				said += fmt.Sprintf("%s %s %s %s; ", final.Key, final.Status, final.Answer.Verdict, string(final.Answer.Value)+final.Answer.Reason)
			}
			return said, nil
		})
		b.work(way)
		id := b.start("a")
		b.asked(id, "version")
		b.answer(id, "version", perdure.Answer{Verdict: perdure.VerdictAnswer, Value: json.RawMessage(`{"v":7}`)})
		b.asked(id, "sure")
		b.answer(id, "sure", approved)
		b.asked(id, "sure#2")
		b.answer(id, "sure#2", perdure.Answer{Verdict: perdure.VerdictDeny, Reason: "no"})
		b.output(id, `version answered answer {"v":7}; sure answered approve tested; sure#2 answered deny no; `)
		if n := b.count(id, perdure.EventQuestionAsked); n != 3 {
			t.Errorf("%d questions were asked", n)
		}
	})
}

// asked waits until the execution waits for the answer to the question with this key.
func (b *bench) asked(id uuid.UUID, key string) {
	b.Helper()
	question := perdure.QuestionID(id, key)
	b.until(id, "it to ask "+key, func(x *perdure.Execution) bool {
		return x.Status == perdure.StatusWaiting && x.WaitReason == "question" && x.Wait.Questions()[0] == question
	})
}

// TestAQuestionIsAnsweredBeforeTheWait checks a question that is answered before the agent begins
// to wait for it, and a question that the agent does not wait for.
func TestAQuestionIsAnsweredBeforeTheWait(t *testing.T) {
	everyMode(t, 20*time.Second, func(b *bench, way func(*Config)) {
		b.agent("a", func(ctx agent.Context) (string, error) {
			early, _ := ctx.OpenQuestion(agent.Question{Name: "early"}), ctx.OpenQuestion(agent.Question{Name: "forgotten"})
			if _, err := ctx.WaitSignal("go", 0); err != nil {
				return "", err
			}
			final, err := ctx.AwaitQuestion(early)
			if err != nil {
				return "", err
			}
			answer, err := agent.Decision(final)
			return answer.Reason, err
		})
		b.work(way)
		id := b.start("a")
		b.waiting(id, "signal")
		b.answer(id, "early", approved)
		b.signal(id, "go", "1")
		b.output(id, "tested")
		if n := b.count(id, perdure.EventQuestionWithdrawn); n != 1 {
			t.Errorf("%d questions were withdrawn by the end", n)
		}
	})
}

// TestQuestionsInWaitAny checks a wait for two questions, of which the second is answered first.
// The wait returns the second. It returns the second again when the function is entered again after
// both are answered.
func TestQuestionsInWaitAny(t *testing.T) {
	everyMode(t, 20*time.Second, func(b *bench, way func(*Config)) {
		b.agent("a", func(ctx agent.Context) (string, error) {
			one, two := ctx.OpenQuestion(agent.Question{Name: "one"}), ctx.OpenQuestion(input("two"))
			met, err := ctx.WaitAny(0, agent.OnQuestion(one), agent.OnQuestion(two))
			if err != nil {
				return "", err
			}
			said := fmt.Sprintf("%d %s", met.Index, met.Questions[0].Answer.Value)
			if _, err := ctx.WaitSignal("go", 0); err != nil {
				return "", err
			}
			both, err := ctx.WaitAny(0, agent.OnAll(agent.OnQuestion(one), agent.OnQuestion(two)))
			if err != nil {
				return "", err
			}
			return said + " " + both.Questions[0].Answer.Reason + " " + string(both.Questions[1].Status), nil
		})
		b.work(way)
		id := b.start("a")
		b.waiting(id, "question")
		b.answer(id, "two", perdure.Answer{Verdict: perdure.VerdictAnswer, Value: json.RawMessage(`{}`)})
		b.waiting(id, "signal")
		b.answer(id, "one", approved)
		b.signal(id, "go", "1")
		b.output(id, "1 {} tested answered")
	})
}

// TestQuestionsThatAreNotAnswered checks questions that expire, with each setting of OnExpiry, and
// a question that is withdrawn.
func TestQuestionsThatAreNotAnswered(t *testing.T) {
	longtest.Skip(t, "seconds")
	everyMode(t, 20*time.Second, func(b *bench, way func(*Config)) {
		b.agent("a", func(ctx agent.Context) (string, error) {
			_, failed := ctx.Ask(agent.Question{Name: "fail", Expires: time.Millisecond, OnExpiry: perdure.OnExpiryFail})
			denied, err := ctx.Ask(agent.Question{Name: "deny", Expires: time.Millisecond})
			if err != nil {
				return "", err
			}
			filled := input("default")
			filled.Expires, filled.OnExpiry, filled.Default = time.Millisecond, perdure.OnExpiryDefault, map[string]int{"v": 1}
			answer, err := ctx.Ask(filled)
			if err != nil {
				return "", err
			}
			gone := ctx.OpenQuestion(agent.Question{Name: "gone"})
			ctx.WithdrawQuestion(gone)
			final, err := ctx.AwaitQuestion(gone)
			if err != nil {
				return "", err
			}
			_, withdrawn := agent.Decision(final)
			return fmt.Sprintf("%v %s %s %v", errors.Is(failed, agent.ErrExpired), denied.Verdict, answer.Value, errors.Is(withdrawn, agent.ErrWithdrawn)), nil
		})
		b.work(way)
		b.output(b.start("a"), `true deny {"v":1} true`)
	})
}

// TestQuestionsThatAreRefused checks that the agent receives the errors of questions that are
// refused, and that the run continues after them.
func TestQuestionsThatAreRefused(t *testing.T) {
	everyMode(t, 20*time.Second, func(b *bench, way func(*Config)) {
		b.agent("a", func(ctx agent.Context) (string, error) {
			ctx.OpenQuestion(agent.Question{Name: "q"})
			twice := ctx.OpenQuestion(agent.Question{Name: "q"})
			if _, err := ctx.AwaitQuestion(twice); !perdure.IsCode(err, perdure.QuestionKeyReused) || !strings.Contains(err.Error(), "Instance") {
				return "", fmt.Errorf("the name was used twice: %w", err)
			}
			if _, err := ctx.AwaitQuestion(agent.NewQuestionRef(uuid.New())); !perdure.IsCode(err, perdure.InvalidArgument) {
				return "", fmt.Errorf("a question of nobody: %w", err)
			}
			if _, err := ctx.Ask(agent.Question{Name: "no choice", Kind: perdure.QuestionChoice}); !perdure.IsCode(err, perdure.InvalidArgument) {
				return "", fmt.Errorf("no choices: %w", err)
			}
			for i := range perdure.MaxOpenQuestions + 1 {
				ctx.OpenQuestion(agent.Question{Name: "many", Instance: fmt.Sprint(i)})
			}
			if err := ctx.Flush(); !perdure.IsCode(err, perdure.InvalidArgument) || !strings.Contains(err.Error(), "open questions") {
				return "", fmt.Errorf("too many: %w", err)
			}
			return "fine", nil
		})
		b.work(way)
		b.output(b.start("a"), "fine")
	})
}

// TestAQuestionWithOtherDetails checks a function that is entered again and asks about something
// else under the same name. It does not get the answer to the earlier question.
func TestAQuestionWithOtherDetails(t *testing.T) {
	for name, any := range map[string]bool{"in Ask": false, "in WaitAny": true} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 20*time.Second)
			var entered, gone atomic.Int32
			b.agent("a", func(ctx agent.Context) (string, error) {
				n := entered.Add(1)
				defer gone.Add(1)
				q := agent.Question{Name: "q", Details: n > 2}
				var err error
				if any {
					_, err = ctx.WaitAny(0, agent.OnQuestion(ctx.OpenQuestion(q)))
				} else {
					_, err = ctx.Ask(q)
				}
				if err != nil {
					return string(perdure.CodeOf(err)), nil
				}
				_, err = ctx.WaitSignal("go", 0)
				return "the answer was taken", err
			})
			b.work(func(c *Config) { c.Parked = -1 })
			id := b.start("a")
			// If the answer came before the goroutine is discarded, it would resume the goroutine,
			// and the function would not be entered again.
			discarded := func(n int32) { eventually(t, "the goroutine to be discarded", func() bool { return gone.Load() == n }) }
			b.waiting(id, "question")
			discarded(1)
			b.answer(id, "q", approved)
			b.waiting(id, "signal")
			discarded(2)
			b.signal(id, "go", "1")
			b.output(id, string(perdure.IdempotencyKeyReused))
		})
	}
}

// TestLargeAnswers checks that an agent gets answers completely that are too large for the messages
// from the server to the worker (claims and replies to commits). One of them is the default of a
// question that has expired.
func TestLargeAnswers(t *testing.T) {
	longtest.Skip(t, "seconds")
	const n = 6
	everyMode(t, 20*time.Second, func(b *bench, way func(*Config)) {
		b.agent("a", func(ctx agent.Context) (string, error) {
			var all []agent.Condition
			for i := range n {
				q := input("q")
				q.Instance = fmt.Sprint(i)
				if i == n-1 {
					q.Expires, q.OnExpiry, q.Default = time.Millisecond, perdure.OnExpiryDefault, map[string]string{"text": strings.Repeat("d", 20_000)}
				}
				all = append(all, agent.OnQuestion(ctx.OpenQuestion(q)))
			}
			met, err := ctx.WaitAny(0, agent.OnAll(all...))
			if err != nil {
				return "", err
			}
			said := ""
			for _, q := range met.Questions {
				said += fmt.Sprint(len(q.Answer.Value), " ")
			}
			return said, nil
		})
		b.work(way, func(c *Config) { c.Dispatch = b.overWire() })
		id := b.start("a")
		b.waiting(id, "question")
		value := json.RawMessage(`{"text":"` + strings.Repeat("x", perdure.MaxAnswer-11) + `"}`)
		for i := range n - 1 {
			b.answer(id, fmt.Sprint("q#", i), perdure.Answer{Verdict: perdure.VerdictAnswer, Value: value})
		}
		b.output(id, strings.Repeat("262144 ", n-1)+"20011 ")
	})
}

// TestAWorkerIsLostWhileItAsks checks a worker that dies before the checkpoint that follows an
// answer. The question is asked once, and the function gets its answer again.
func TestAWorkerIsLostWhileItAsks(t *testing.T) {
	longtest.Skip(t, "seconds")
	everyMode(t, time.Second, func(b *bench, way func(*Config)) {
		b.agent("a", func(ctx agent.Context) (string, error) {
			answer, err := ctx.Ask(agent.Question{Name: "q"})
			if err != nil {
				return "", err
			}
			return answer.Reason, ctx.Checkpoint(1)
		})
		first := &doomed{Dispatch: b.e.Dispatch(org, false)}
		home := func(*Config) {}
		if b.mode == perdure.Local {
			kept := b.newStore()
			home = func(c *Config) { c.Local = kept }
		}
		dead := b.work(way, home, func(c *Config) { c.Dispatch = first })
		id := b.start("a")
		b.waiting(id, "question")
		b.answer(id, "q", approved)
		eventually(t, "the worker to be lost", first.dead.Load)
		dead.stop()
		b.work(way, home)
		b.output(id, "tested")
		if asked, answered := b.count(id, perdure.EventQuestionAsked), b.count(id, perdure.EventQuestionAnswered); asked != 1 || answered != 1 {
			t.Errorf("asked %d times, answered %d times", asked, answered)
		}
	})
}
