package questions_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face"
	"github.com/perdure/perdure/internal/face/facetest"
	"github.com/perdure/perdure/internal/store/opentest"
)

func TestMain(m *testing.M) { os.Exit(opentest.Main(m)) }

// testServer is a server with a key of the role approver.
type testServer struct {
	*facetest.Server
	approver string
	shift    time.Duration // difference between the store's clock and the real one
}

// each runs a test on every store.
func each(t *testing.T, test func(h *testServer)) {
	t.Helper()
	opentest.Each(t, func(t *testing.T, open opentest.Opener) {
		h := &testServer{}
		h.Server = facetest.OpenOver(t, open(t, func() time.Time { return time.Now().Add(h.shift) }))
		h.approver = h.Key(perdure.KeyApprover)
		test(h)
	})
}

func open(t *testing.T, change ...func(*face.Config)) *testServer {
	t.Helper()
	h := &testServer{Server: facetest.Open(t, change...)}
	h.approver = h.Key(perdure.KeyApprover)
	return h
}

// asker is a run that asks questions.
type asker struct {
	*facetest.Run
	h *testServer
}

// start starts a run with a prompt and claims it.
func (h *testServer) start(prompt string) asker {
	h.T.Helper()
	h.Call("POST", "/agent-executions", `{"userPrompt":"`+prompt+`",`+facetest.Models+`}`).Want(201, nil)
	return asker{h.Claim(), h}
}

// ask lets the run ask a question with details. The question has the kind "plan", which the server
// does not define. The functions in the parameter `change` can change the question before it is
// asked.
func (a asker) ask(key string, change ...func(*perdure.NewQuestion)) uuid.UUID {
	a.h.T.Helper()
	n := perdure.NewQuestion{Key: key, Details: json.RawMessage(`{"plan": "` + key + `"}`)}
	n.Kind, n.Subject, n.Prompt = "plan", "deploy", "Deploy it?"
	for _, f := range change {
		f(&n)
	}
	if n.EntryID == nil {
		n.DetailsSHA256 = perdure.DetailsHash(n.Kind, n.Subject, n.Details)
	}
	a.Commit(perdure.Commit{Questions: []perdure.NewQuestion{n}})
	return perdure.QuestionID(a.ID, key)
}

// rest suspends the run until one of the given questions is answered.
func (a asker) rest(ids ...uuid.UUID) {
	a.h.T.Helper()
	var all []perdure.Wait
	for _, id := range ids {
		all = append(all, perdure.WaitQuestion(id))
	}
	wait := perdure.WaitAny(all...)
	a.Commit(perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: &wait}})
}

// as sends a request with the given key.
func (h *testServer) as(key, method, path, body string) facetest.Reply {
	h.T.Helper()
	return h.Call(method, path, body, "Authorization", "Bearer "+key)
}

// get returns a question as the approver reads it.
func (h *testServer) get(id uuid.UUID) perdure.Question {
	h.T.Helper()
	var q perdure.Question
	h.as(h.approver, "GET", "/questions/"+id.String(), "").Want(200, &q)
	return q
}

// vote sends a vote with the current hash of the question's details.
func (h *testServer) vote(key string, id uuid.UUID, body string) facetest.Reply {
	h.T.Helper()
	q := h.get(id)
	return h.as(key, "POST", "/questions/"+id.String()+"/answer", `{"detailsSha256":"`+q.DetailsSHA256.String()+`",`+body+`}`)
}

// questionPage is a page of questions.
type questionPage struct {
	Items      []perdure.Question
	NextCursor *string
	Open       int
	OpenMore   bool
}

func (h *testServer) list(key, query string) questionPage {
	h.T.Helper()
	var l questionPage
	h.as(key, "GET", "/questions"+query, "").Want(200, &l)
	return l
}

func keysOf(l questionPage) (keys []string) {
	for _, q := range l.Items {
		keys = append(keys, q.Key)
	}
	return keys
}

// execution reads an execution as the client.
func (h *testServer) execution(id uuid.UUID) perdure.Execution {
	h.T.Helper()
	var x perdure.Execution
	h.Call("GET", "/agent-executions/"+id.String(), "").Want(200, &x)
	return x
}

// newKey creates a key and returns its secret and its id.
func (h *testServer) newKey(name string, role perdure.KeyRole) (string, uuid.UUID) {
	h.T.Helper()
	key, secret, err := h.Engine.CreateKey(context.WithoutCancel(h.T.Context()), "default", name, role)
	if err != nil {
		h.T.Fatal(err)
	}
	return secret, key.ID
}
