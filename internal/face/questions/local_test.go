package questions_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/facetest"
	"github.com/perdure/perdure/internal/longtest"
)

// secret is a word that every content of the LOCAL questions in these tests contains.
const secret = "zebracrossing"

// workerContents are the contents that the worker stores. The test acts as the worker. If the field
// `deaf` is set, the worker does not respond.
type workerContents struct {
	all  map[perdure.Hash][]byte
	deaf bool
}

// Content implements perdure.ContentSource.
func (s *workerContents) Content(ctx context.Context, _ uuid.UUID, sum perdure.Hash) (io.ReadCloser, error) {
	if s.deaf {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	content, ok := s.all[sum]
	if !ok {
		return nil, perdure.Errorf(perdure.NotFound, "none")
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

func (s *workerContents) put(content []byte) { s.all[sha256.Sum256(content)] = content }

// localRun is a LOCAL run that asks questions.
type localRun struct {
	asker
	*workerContents
}

// startLocal starts a LOCAL run and claims it.
func (h *testServer) startLocal() *localRun {
	h.T.Helper()
	h.Call("POST", "/agent-executions", `{"userPrompt":"x","persistenceMode":"local",`+facetest.Models+`}`).Want(201, nil)
	claims, err := h.Worker.PollAgents(h.T.Context(), perdure.Poll{
		WorkerID: h.ID, Queues: []string{"default", perdure.LocalQueue(h.ID)}, Kinds: []string{perdure.ReactKind}, Slots: 1, Local: true,
		Features: perdure.AllFeatures, Wait: time.Second,
	})
	if err != nil || len(claims) != 1 {
		h.T.Fatalf("claimed %d: %v", len(claims), err)
	}
	r := &facetest.Run{Server: h.Server, ID: claims[0].Lease.ExecutionID, Lease: claims[0].Lease}
	return &localRun{asker{r, h}, &workerContents{all: map[perdure.Hash][]byte{}}}
}

// ask asks a question whose content only the worker stores.
func (l *localRun) ask(key string, n perdure.NewQuestion) uuid.UUID {
	l.h.T.Helper()
	n.Key = key
	n.DetailsSHA256 = perdure.DetailsHash(n.Kind, n.Subject, n.Details)
	n, content := n.Withhold()
	l.put(content)
	l.Commit(perdure.Commit{Questions: []perdure.NewQuestion{n}})
	return perdure.QuestionID(l.ID, key)
}

// connect connects the worker to the server until disconnect is called.
func (l *localRun) connect() (disconnect func()) {
	l.h.T.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(l.h.T.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = l.h.Worker.ServeContents(ctx, l.h.ID, l.workerContents) // it ends with ctx
	}()
	for {
		if _, err := l.h.Engine.Homes().Source("default", l.h.ID); err == nil {
			return func() { cancel(); <-ended }
		}
		select {
		case <-ended:
			l.h.T.Fatal("it does not serve")
		default:
		}
	}
}

func secretPlan() perdure.NewQuestion {
	return perdure.NewQuestion{Details: json.RawMessage(`{"plan": "` + secret + `"}`), QuestionTerms: perdure.QuestionTerms{
		Kind: "plan", Subject: "deploy", Prompt: "Deploy " + secret + "?",
	}}
}

// TestALocalQuestionIsReadThroughItsWorker checks a question of a LOCAL run. While the run's worker
// is connected, the question looks like one of a REMOTE run. Without the worker, the server shows
// only the length and the hash of the question's content, and the question can only be denied.
func TestALocalQuestionIsReadThroughItsWorker(t *testing.T) {
	each(t, func(h *testServer) {
		t := h.T
		l := h.startLocal()
		id, other := l.ask("one", secretPlan()), l.ask("two", secretPlan())
		first := func() []perdure.Question {
			s := h.follow()
			var all struct{ Items []perdure.Question }
			if err := json.Unmarshal([]byte(s.Must().Data), &all); err != nil {
				t.Fatal(err)
			}
			return all.Items
		}
		path := "/questions/" + id.String()
		for what, q := range map[string]perdure.Question{"alone": h.get(id), "in the list": h.list(h.approver, "?mine=true").Items[1], "in the stream": first()[1]} {
			if q.ID != id || q.Content != perdure.ContentOnWorker || q.ContentBytes == 0 || len(q.ContentSHA256) != 64 || q.Prompt != "" || q.Details != nil || q.Withheld != nil {
				t.Errorf("%s, it is %+v", what, q)
			}
		}
		h.as(h.approver, "GET", path+"/details", "").Want(503, nil)
		var p struct{ Detail string }
		h.vote(h.approver, id, `"verdict":"approve"`).Want(503, &p)
		if !strings.Contains(p.Detail, "only be denied") {
			t.Errorf("an approval without the worker gets %q", p.Detail)
		}
		h.vote(h.approver, id, `"verdict":"deny","reason":"not now"`).Want(200, nil)
		disconnect := l.connect()
		for what, q := range map[string]perdure.Question{"alone": h.get(other), "in the list": h.list(h.approver, "?mine=true").Items[0], "in the stream": first()[0]} {
			if q.ID != other || q.OnWorker() || q.Prompt != "Deploy "+secret+"?" || !strings.Contains(string(q.Details), secret) {
				t.Errorf("%s, with its worker, it is %+v", what, q)
			}
		}
		if r := h.as(h.approver, "GET", "/questions/"+other.String()+"/details", "").Want(200, nil); string(r.Body) != string(secretPlan().Details) {
			t.Errorf("the details are %s", r.Body)
		}
		h.vote(h.approver, other, `"verdict":"approve"`).Want(200, nil)
		disconnect()
	})
}

// TestAListDoesNotWaitForDeafWorkers checks that a list waits only a short time for workers that do
// not respond.
func TestAListDoesNotWaitForDeafWorkers(t *testing.T) {
	longtest.Skip(t, "seconds")
	h := open(t)
	l := h.startLocal()
	for i := range 20 {
		l.ask(strings.Repeat("q", i+1), secretPlan())
	}
	l.deaf = true
	defer l.connect()()
	if all := h.list(h.approver, "").Items; len(all) != 20 || !all[7].OnWorker() || all[7].Prompt != "" {
		t.Errorf("the list has %d questions, %+v", len(all), all[7])
	}
}

// TestALocalQuestionIsInNoRecord checks that events, the audit log and the deliveries of webhooks
// contain nothing of the content of a LOCAL run's question.
func TestALocalQuestionIsInNoRecord(t *testing.T) {
	each(t, func(h *testServer) {
		t := h.T
		h.as(h.AdminKey, "POST", "/webhooks", `{"url":"https://example.com/hook","events":["question.asked","question.answered","question.voted","question.edited"]}`).Want(201, nil)
		l := h.startLocal()
		defer l.connect()()
		plan := secretPlan()
		plan.Edit, plan.Needed = perdure.EditApprover, 2
		id := l.ask("one", plan)
		h.vote(h.approver, id, `"verdict":"approve","details":{"plan":"`+secret+` edited"},"reason":"`+secret+`"`).Want(200, nil)
		h.vote(h.AdminKey, id, `"verdict":"approve","reason":"`+secret+`"`).Want(200, nil)
		form := l.ask("form", perdure.NewQuestion{QuestionTerms: perdure.QuestionTerms{Kind: perdure.QuestionInput, Schema: json.RawMessage(`{"type":"string"}`)}})
		h.vote(h.AdminKey, form, `"verdict":"answer","answer":"`+secret+`"`).Want(200, nil)
		if q := h.get(id); !strings.Contains(string(q.Details), "edited") || q.Answer.Reason != secret {
			t.Errorf("the question is %+v, %+v", q, q.Answer)
		}
		for _, path := range []string{"/agent-executions/" + l.ID.String() + "/events?limit=100", "/audit"} {
			r := h.as(h.AdminKey, "GET", path, "").Want(200, nil)
			if strings.Contains(string(r.Body), secret) || !strings.Contains(string(r.Body), "question.answered") {
				t.Errorf("%s has %s", path, r.Body)
			}
		}
		var hooks struct{ Items []struct{ ID uuid.UUID } }
		h.as(h.AdminKey, "GET", "/webhooks", "").Want(200, &hooks)
		r := h.as(h.AdminKey, "GET", "/webhooks/"+hooks.Items[0].ID.String()+"/deliveries", "").Want(200, nil)
		if strings.Contains(string(r.Body), secret) || !strings.Contains(string(r.Body), "question.answered") {
			t.Errorf("the deliveries are %s", r.Body)
		}
	})
}

// TestALinkToALocalQuestion checks the page of a link to a question of a LOCAL run. The page shows
// the question while the run's worker is connected. Without the worker, the form on the page can
// only deny the question.
func TestALinkToALocalQuestion(t *testing.T) {
	h := open(t)
	_, key := h.newKey("ann", perdure.KeyApprover)
	l := h.startLocal()
	form := l.ask("form", perdure.NewQuestion{QuestionTerms: perdure.QuestionTerms{
		Kind: perdure.QuestionInput, Prompt: secret, Schema: json.RawMessage(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer","title":"How many"}}}`),
	}})
	plan := l.ask("plan", secretPlan())
	disconnect := l.connect()
	_, path := h.link(form, key)
	page := h.open(path)
	wantPage(t, page, 200, secret, "How many")
	disconnect()
	away := h.submit(path, page, "verdict", "answer", "answer.n", "3")
	wantPage(t, away, 503, "worker of the run is not connected")
	if body := string(away.Body); strings.Contains(body, secret) || strings.Contains(body, `value="answer"`) || strings.Contains(body, `value="approve"`) {
		t.Errorf("without the worker, the page is %s", body)
	}
	disconnect = l.connect()
	wantPage(t, h.submit(path, page, "verdict", "answer", "answer.n", "3"), 200, "Answered by ann")
	disconnect()
	_, path = h.link(plan, key)
	page = h.open(path)
	wantPage(t, page, 200, "on the worker of the run", "Deny")
	wantPage(t, h.submit(path, page, "verdict", "deny"), 200, "Denied by ann")
}
