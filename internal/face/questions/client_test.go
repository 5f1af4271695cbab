package questions_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// TestQuestionsWithTheGoClient checks that the Go client can list, read, answer and follow the
// questions of a real server.
func TestQuestionsWithTheGoClient(t *testing.T) {
	h := open(t)
	c, err := client.New(client.Options{BaseURL: h.URL, Key: h.approver})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, stop := context.WithCancel(t.Context())
	events := make(chan client.QuestionEvent)
	ended := make(chan error, 1)
	go func() {
		defer close(events)
		for e, err := range c.FollowQuestions(ctx) {
			if err != nil {
				ended <- err
				return
			}
			events <- e
		}
	}()
	if e := <-events; e.All == nil || e.All.Open != 0 {
		t.Errorf("the stream begins with %+v", e)
	}
	a := h.start("x")
	large := `{"command":"` + strings.Repeat("x", perdure.ShownLimit) + `"}`
	id := a.ask("one", about(a.call("call_1", large), "call_1", large))
	if e := <-events; e.Changed == nil || e.Changed.ID != id {
		t.Errorf("the event is %+v", e)
	}
	p, err := c.QuestionsPage(t.Context(), client.QuestionFilter{
		Status: []perdure.QuestionStatus{perdure.QuestionOpen}, Kind: perdure.QuestionApproval, Subject: "bash", ExecutionID: &a.ID, Mine: true,
	}, client.PageOptions{})
	if err != nil || len(p.Items) != 1 || p.Open != 1 || p.More {
		t.Errorf("the page is %+v, %v", p, err)
	}
	q, err := c.Question(t.Context(), id)
	if err != nil || q.Details != nil || q.DetailsBytes != int64(len(large)) {
		t.Fatalf("the question is %+v, %v", q, err)
	}
	details, err := c.QuestionDetails(t.Context(), id)
	if err != nil || string(details) != large {
		t.Errorf("%d bytes of details, %v", len(details), err)
	}
	hash := perdure.DetailsHash(q.Kind, q.Subject, details)
	yes := client.AnswerRequest{Verdict: perdure.VerdictApprove, DetailsSHA256: &hash, Reason: "yes"}
	done, err := c.Answer(t.Context(), id, yes)
	if err != nil || done.Status != perdure.QuestionAnswered {
		t.Errorf("the answered question is %+v, %v", done, err)
	}
	if e := <-events; e.Changed == nil || e.Changed.Status != perdure.QuestionAnswered {
		t.Errorf("the event is %+v", e)
	}
	other, err := client.New(client.Options{BaseURL: h.URL, Key: h.ClientKey})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	_, err = other.Answer(t.Context(), id, yes)
	var late *client.DecidedError
	if !errors.As(err, &late) || late.Question.Answer.Reason != "yes" || !perdure.IsCode(err, perdure.QuestionDecided) {
		t.Errorf("the late answer gets %v", err)
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the stream ends with %v", err)
	}
}

// TestAnApproverSeesOnlyQuestions checks that an approver, with its key or signed in, can read the
// questions of runs, but nothing else of the runs.
func TestAnApproverSeesOnlyQuestions(t *testing.T) {
	h := open(t)
	a := h.start("x")
	a.ask("one")
	for _, path := range []string{"", "/events", "/entries", "/stream", "/snapshot", "/tasks", "/context"} {
		h.as(h.approver, "GET", "/agent-executions/"+a.ID.String()+path, "").Want(403, nil)
	}
	var l struct{ Items []json.RawMessage }
	h.as(h.approver, "GET", "/questions", "").Want(200, &l)
	if len(l.Items) != 1 {
		t.Errorf("the approver reads %d questions", len(l.Items))
	}
	login := h.Call("POST", "./api/login", `{"key":"`+h.approver+`"}`, "Authorization", "", "Origin", h.URL)
	var signedIn struct{ Role, Session string }
	login.Want(200, &signedIn)
	cookie, _, _ := strings.Cut(login.Header.Get("Set-Cookie"), ";")
	session := []string{"Authorization", "", "Cookie", cookie, "Perdure-Session", signedIn.Session}
	if signedIn.Role != "approver" {
		t.Errorf("the role is %q", signedIn.Role)
	}
	h.Call("GET", "/questions", "", session...).Want(200, nil)
	h.Call("GET", "/agent-executions", "", session...).Want(403, nil)
	h.Call("POST", "./api/logout", "", append(session, "Origin", h.URL)...).Want(204, nil)
	h.Call("GET", "/questions", "", session...).Want(401, nil)
}
