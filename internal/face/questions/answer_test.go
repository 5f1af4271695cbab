package questions_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/facetest"
)

func wantField(t *testing.T, r facetest.Reply, field string) {
	t.Helper()
	var p struct{ Errors []perdure.FieldError }
	r.Want(400, &p)
	if len(p.Errors) != 1 || p.Errors[0].Location != field {
		t.Errorf("the answer names %+v, want %s: %s", p.Errors, field, r.Body)
	}
}

// TestAnApproverAnswers checks that an approver can read a question, with the run's title and the
// details, and approve it. The run then continues. The response for the execution has the number of
// open questions.
func TestAnApproverAnswers(t *testing.T) {
	each(t, func(h *testServer) {
		t := h.T
		a := h.start("Ship the release.")
		id := a.ask("one")
		a.rest(id)
		if x := h.execution(a.ID); x.OpenQuestions != 1 || x.Status != perdure.StatusWaiting || x.WaitReason != "question" {
			t.Errorf("the execution is %+v", x)
		}
		q := h.get(id)
		if q.ExecutionTitle != "Ship the release." || string(q.Details) != `{"plan": "one"}` || q.Status != perdure.QuestionOpen || q.ExecutionID != a.ID {
			t.Errorf("the question is %+v", q)
		}
		if got := perdure.DetailsHash(q.Kind, q.Subject, q.Details); got != q.DetailsSHA256 {
			t.Errorf("the hash of what is shown is %s, that of the question %s", got, q.DetailsSHA256)
		}
		var done perdure.Question
		h.vote(h.approver, id, `"verdict":"approve","reason":"looks good"`).Want(200, &done)
		if done.Status != perdure.QuestionAnswered || done.Answer.Verdict != "approve" || done.Answer.By != "test approver" || done.Answer.Reason != "looks good" || len(done.Votes) != 1 {
			t.Errorf("the question is %+v", done)
		}
		if x := h.execution(a.ID); x.OpenQuestions != 0 || x.Status != perdure.StatusPending {
			t.Errorf("the execution is %+v", x)
		}
		var log struct{ Items []perdure.AuditRecord }
		h.as(h.AdminKey, "GET", "/audit?limit=1", "").Want(200, &log)
		if r := log.Items[0]; r.Action != perdure.AuditQuestionAnswered || *r.SubjectID != id || r.SubjectName != "approve" || r.After != q.DetailsSHA256.String() || r.Actor.Name != "test approver" {
			t.Errorf("the newest record of the audit log is %+v", r)
		}
		if again := h.get(id); again.Status != perdure.QuestionAnswered || again.Version != done.Version {
			t.Errorf("read again, it is %+v", again)
		}
	})
}

// TestTheSecondAnswerIsAConflict checks that the second of two answers to a question gets an error
// that contains the decision. An answer that is repeated with the same answerId gets the same
// result.
func TestTheSecondAnswerIsAConflict(t *testing.T) {
	each(t, func(h *testServer) {
		t := h.T
		a := h.start("x")
		id := a.ask("one")
		a.rest(id)
		const first = `"verdict":"deny","reason":"not today","answerId":"a1"`
		h.vote(h.approver, id, first).Want(200, nil)
		var p struct {
			Code     perdure.Code
			Question *perdure.Question
		}
		h.vote(h.ClientKey, id, `"verdict":"approve"`).Want(409, &p)
		if p.Code != perdure.QuestionDecided || p.Question == nil || p.Question.Answer.Verdict != "deny" || p.Question.Answer.Reason != "not today" {
			t.Errorf("the second answer gets %+v", p)
		}
		var repeat perdure.Question
		h.vote(h.approver, id, first).Want(200, &repeat)
		if repeat.Status != perdure.QuestionAnswered || len(repeat.Votes) != 1 {
			t.Errorf("the repeat gets %+v", repeat)
		}
	})
}

// TestOneOfManyAnswersDecides checks that exactly one of many concurrent answers decides the
// question.
func TestOneOfManyAnswersDecides(t *testing.T) {
	each(t, func(h *testServer) {
		t := h.T
		a := h.start("x")
		id := a.ask("one")
		a.rest(id)
		hash := h.get(id).DetailsSHA256.String()
		keys := []string{h.approver, h.ClientKey, h.AdminKey}
		for range 5 {
			keys = append(keys, h.Key(perdure.KeyApprover))
		}
		statuses := make([]int, len(keys))
		var all sync.WaitGroup
		for i, key := range keys {
			all.Go(func() {
				verdict := []string{"approve", "deny"}[i%2]
				statuses[i] = h.as(key, "POST", "/questions/"+id.String()+"/answer", `{"verdict":"`+verdict+`","detailsSha256":"`+hash+`"}`).Status
			})
		}
		all.Wait()
		won := 0
		for _, s := range statuses {
			switch s {
			case 200:
				won++
			case 409:
			default:
				t.Errorf("an answer gets %d", s)
			}
		}
		q := h.get(id)
		if won != 1 || len(q.Votes) != 1 || q.Version != 2 {
			t.Errorf("%d answers won, and the question is %+v", won, q)
		}
	})
}

// TestAnApprovalNamesWhatItApproves checks that an approval must contain the hash of the approved
// details.
func TestAnApprovalNamesWhatItApproves(t *testing.T) {
	h := open(t)
	a := h.start("x")
	id := a.ask("one")
	path := "/questions/" + id.String() + "/answer"
	wantField(t, h.as(h.approver, "POST", path, `{"verdict":"approve"}`), "detailsSha256")
	wantField(t, h.as(h.approver, "POST", path, `{"verdict":"approve","detailsSha256":"12"}`), "detailsSha256")
	other := perdure.DetailsHash("plan", "deploy", []byte(`{}`)).String()
	var p struct{ Code perdure.Code }
	h.as(h.approver, "POST", path, `{"verdict":"approve","detailsSha256":"`+other+`"}`).Want(409, &p)
	if p.Code != perdure.DetailsChanged {
		t.Errorf("another hash gets %s", p.Code)
	}
	for _, c := range []struct{ body, field string }{
		{`{"verdict":"perhaps"}`, "verdict"},
		{`{"verdict":"deny","surplus":1}`, "surplus"},
		{`{"verdict":"deny","answer":1}`, "answer"},
		{`{"verdict":"answer","answer":1}`, "verdict"},
		{`{"verdict":"deny","reason":"` + strings.Repeat("x", perdure.MaxAnswerReason+1) + `"}`, "reason"},
	} {
		r := h.as(h.approver, "POST", path, c.body)
		if r.Status < 400 || r.Status > 422 || !strings.Contains(string(r.Body), `"`+c.field+`"`) {
			t.Errorf("%.80s gets %d %s, want %s", c.body, r.Status, r.Body, c.field)
		}
	}
	if q := h.get(id); q.Status != perdure.QuestionOpen || q.Version != 1 {
		t.Errorf("refused answers changed the question: %+v", q)
	}
}

// TestAnAnswerFitsTheQuestion checks that an answer that does not fit the schema, or is not one of
// the choices, is refused. The error names the wrong member.
func TestAnAnswerFitsTheQuestion(t *testing.T) {
	each(t, func(h *testServer) {
		t := h.T
		a := h.start("x")
		form := a.ask("form", func(n *perdure.NewQuestion) {
			n.Kind, n.Schema = perdure.QuestionInput, json.RawMessage(`{"type":"object","required":["days"],"properties":{"days":{"type":"integer"}}}`)
		})
		pick := a.ask("pick", func(n *perdure.NewQuestion) {
			n.Kind, n.Choices = perdure.QuestionChoice, []perdure.QuestionOption{{Value: "red"}, {Value: "blue"}}
		})
		wantField(t, h.vote(h.approver, form, `"verdict":"answer","answer":{"days":"two"}`), "answer.days")
		wantField(t, h.vote(h.approver, form, `"verdict":"answer"`), "answer")
		wantField(t, h.vote(h.approver, form, `"verdict":"approve"`), "verdict")
		wantField(t, h.vote(h.approver, pick, `"verdict":"answer","answer":"green"`), "answer")
		var q perdure.Question
		h.vote(h.approver, form, `"verdict":"answer","answer":{"days":2}`).Want(200, &q)
		if string(q.Answer.Value) != `{"days":2}` {
			t.Errorf("the form's answer is %s", q.Answer.Value)
		}
		h.vote(h.approver, pick, `"verdict":"answer","answer":"blue"`).Want(200, &q)
		if string(q.Answer.Value) != `"blue"` {
			t.Errorf("the choice is %s", q.Answer.Value)
		}
	})
}

// TestWhoMayAnswer checks that the members `by`, `notAsker` and `needed` of a question limit who
// may answer the question. A list with mine=true has exactly the questions that the key may answer.
func TestWhoMayAnswer(t *testing.T) {
	each(t, func(h *testServer) {
		t := h.T
		friend, friendID := h.newKey("friend", perdure.KeyApprover)
		a := h.start("x") // started with the key of the client
		ids := map[string]uuid.UUID{
			"all":       a.ask("all"),
			"admins":    a.ask("admins", func(n *perdure.NewQuestion) { n.By = []string{"admin"} }),
			"friend":    a.ask("friend", func(n *perdure.NewQuestion) { n.By = []string{"key:" + friendID.String()} }),
			"not asker": a.ask("not asker", func(n *perdure.NewQuestion) { n.NotAsker = true }),
			"two":       a.ask("two", func(n *perdure.NewQuestion) { n.Needed = 2 }),
		}
		h.shift += time.Second
		late, _ := h.newKey("late", perdure.KeyApprover)
		may := map[string][]string{
			h.AdminKey:  {"two", "not asker", "admins", "all"},
			h.ClientKey: {"two", "all"},
			h.approver:  {"two", "not asker", "all"},
			friend:      {"two", "not asker", "friend", "all"},
			late:        {"not asker", "all"},
		}
		for key, want := range may {
			if got := keysOf(h.list(key, "?mine=true")); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("a key may answer %v, want %v", got, want)
			}
			for name, id := range ids {
				allowed := strings.Contains(fmt.Sprint(want)+" ", name)
				r := h.as(key, "POST", "/questions/"+id.String()+"/answer", `{"verdict":"approve"}`) // without the hash of the details
				if want := map[bool]int{true: 400, false: 403}[allowed]; r.Status != want {
					t.Errorf("%q of the key that may %v is answered %d %s", name, may[key], r.Status, r.Body)
				}
			}
		}
		h.as(h.WorkerKey, "POST", "/questions/"+ids["all"].String()+"/answer", `{"verdict":"deny"}`).Want(403, nil)

		var q perdure.Question
		h.vote(h.approver, ids["two"], `"verdict":"approve"`).Want(200, &q)
		if q.Status != perdure.QuestionOpen || len(q.Votes) != 1 {
			t.Errorf("after one of two votes it is %+v", q)
		}
		var p struct{ Code perdure.Code }
		h.vote(h.approver, ids["two"], `"verdict":"approve"`).Want(409, &p)
		if p.Code != perdure.AlreadyVoted {
			t.Errorf("the second vote of a key gets %s", p.Code)
		}
		if got := keysOf(h.list(h.approver, "?mine=true")); fmt.Sprint(got) != "[not asker all]" {
			t.Errorf("after its vote, the key may answer %v", got)
		}
		h.vote(friend, ids["two"], `"verdict":"approve"`).Want(200, &q)
		if q.Status != perdure.QuestionAnswered || q.Answer.By != "friend" {
			t.Errorf("after two votes it is %+v", q)
		}
	})
}

// TestVotesAgreeOnAValue checks that votes for equal JSON values agree, even if the values are
// written differently. Values are stored in compact form, with some characters escaped.
func TestVotesAgreeOnAValue(t *testing.T) {
	each(t, func(h *testServer) {
		t := h.T
		friend, _ := h.newKey("friend", perdure.KeyApprover)
		id := h.start("x").ask("two", func(n *perdure.NewQuestion) {
			n.Kind, n.Needed, n.Schema = perdure.QuestionInput, 2, json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"},"n":{"type":"integer"}}}`)
		})
		var q perdure.Question
		h.vote(h.approver, id, `"verdict":"answer","answer":{"to": "<ann> & bob", "n": 9007199254740993}`).Want(200, &q)
		h.vote(friend, id, `"verdict":"answer","answer":{"to": "ann", "n": 9007199254740993}`).Want(400, nil)
		h.vote(friend, id, `"verdict":"answer","answer":{"to": "<ann> & bob", "n": 9007199254740992}`).Want(400, nil)
		h.vote(friend, id, `"verdict":"answer","answer":{ "n":9007199254740993,"to": "\u003cann> & bob" }`).Want(200, &q)
		if q.Status != perdure.QuestionAnswered {
			t.Errorf("two equal answers leave it %+v", q)
		}
	})
}

// TestSendersOfSignalsAreAskers checks that a key that has sent a signal to the run is an asker as
// soon as the run has taken that signal.
func TestSendersOfSignalsAreAskers(t *testing.T) {
	each(t, func(h *testServer) {
		t := h.T
		a := h.start("x")
		wait := perdure.WaitSignal("userMessage")
		a.Commit(perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: &wait}})
		h.as(h.AdminKey, "POST", "/agent-executions/"+a.ID.String()+"/signal", `{"signalName":"userMessage","signalValue":{"text":"go on"},"signalId":"s1"}`).Want(200, nil)
		b := asker{h.Claim(), h}
		b.Commit(perdure.Commit{Take: []string{"s1"}})
		b.ask("one", func(n *perdure.NewQuestion) { n.NotAsker = true })
		for key, want := range map[string]string{h.AdminKey: "[]", h.ClientKey: "[]", h.approver: "[one]"} {
			if got := fmt.Sprint(keysOf(h.list(key, "?mine=true"))); got != want {
				t.Errorf("a key may answer %s, want %s", got, want)
			}
		}
	})
}

// TestAnExpiredQuestionTakesNoAnswer checks that an expired question takes no answer.
func TestAnExpiredQuestionTakesNoAnswer(t *testing.T) {
	each(t, func(h *testServer) {
		t := h.T
		a := h.start("x")
		id := a.ask("one", func(n *perdure.NewQuestion) { n.ExpiresAfter = time.Minute })
		h.shift += 2 * time.Minute
		if err := h.Engine.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := h.list(h.approver, "?mine=true"); len(got.Items) != 0 {
			t.Errorf("an expired question can be answered: %+v", got)
		}
		var p struct{ Code perdure.Code }
		h.vote(h.approver, id, `"verdict":"approve"`).Want(409, &p)
		if p.Code != perdure.QuestionDecided {
			t.Errorf("it gets %s", p.Code)
		}
	})
}
