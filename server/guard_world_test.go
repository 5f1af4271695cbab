package server_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/server"
)

// canary is part of the texts that the org acme stores. No other org may receive it.
const canary = "canary-7f3a91"

// world is a server with two orgs. The org acme has objects, whose ids are in the field `names`.
// The org rival has only API keys.
type world struct {
	*testing.T
	*server.Server
	keys  map[string]string // by org and role, as in "acme admin"; "acme revoked" is a revoked key
	names map[string]string // values for {id}, {sha256} and so on
	lease perdure.Lease     // a live lease of acme's execution
	task  perdure.TaskLease // a live lease of a task of acme's execution
}

func newWorld(t *testing.T, change ...func(*server.Config)) *world {
	t.Helper()
	c := server.Config{HTTPAddr: "127.0.0.1:0", GRPCAddr: "127.0.0.1:0"}
	for _, f := range change {
		f(&c)
	}
	w := &world{T: t, Server: openServer(t, c), keys: map[string]string{}, names: map[string]string{"org": "acme", "seq": "1", "path": canary + "-path", "slug": canary + "-slug"}}
	for _, org := range []string{"acme", "rival"} {
		for _, role := range []perdure.KeyRole{perdure.KeyAdmin, perdure.KeyClient, perdure.KeyWorker, perdure.KeyApprover} {
			_, secret, err := w.CreateKey(t.Context(), org, canaryOf(org, string(role)), role)
			w.must(err)
			w.keys[org+" "+string(role)] = secret
		}
	}
	gone, secret, err := w.CreateKey(t.Context(), "acme", "gone", perdure.KeyAdmin)
	w.must(err)
	w.keys["acme revoked"] = secret
	admin := w.client("acme", "admin")
	_, err = admin.RevokeKey(t.Context(), gone.ID)
	w.must(err)
	w.furnish(admin)
	return w
}

func canaryOf(org, text string) string {
	if org == "acme" {
		return canary + " " + text
	}
	return text
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) client(org, role string) *client.Client {
	w.Helper()
	c, err := client.New(client.Options{BaseURL: "http://" + w.HTTPAddress(), Org: org, Key: w.keys[org+" "+role]})
	w.must(err)
	w.Cleanup(c.Close)
	return c
}

// furnish creates objects of the org acme: an execution with its parts, a key, a session, a
// definition, a webhook with a delivery, a response, a conversation and a stream.
func (w *world) furnish(admin *client.Client) {
	w.Helper()
	d := w.Dispatch("acme")
	worker := uuid.New()
	for _, org := range []string{"acme", "rival"} {
		_, err := w.Dispatch(org).Register(w.Context(), perdure.Registration{
			WorkerID: worker, Queues: []string{"default"},
			Agents: []perdure.KindSpec{{Kind: "agent"}, {Kind: perdure.ReactKind, Providers: []string{"scripted"}}}, Tasks: []perdure.KindSpec{{Kind: "work"}},
		})
		w.must(err)
	}
	x := w.start(admin)
	w.names["id"] = x
	w.claim(d, worker)
	w.commit(d, worker)
	w.grant()
	w.link()
	w.names["spare"] = w.start(admin)
	key, _, err := w.CreateKey(w.Context(), "acme", canary+" spare", perdure.KeyClient)
	w.must(err)
	w.names["key"] = key.ID.String()
	w.names["session"] = w.signIn(w.keys["acme client"]).id
	var made struct{ ID, Slug string }
	w.json("POST", "/api/orgs/acme/agent-definitions", `{"name":"`+canary+`","slug":"`+w.names["slug"]+`","systemPrompt":"`+canary+`","models":[{"provider":"scripted","modelId":"m"}]}`, &made)
	w.names["definition"] = made.ID
	var webhook, spare, delivery struct{ ID string }
	w.json("POST", "/api/orgs/acme/webhooks", `{"url":"https://127.0.0.1:1/`+canary+`"}`, &webhook)
	w.json("POST", "/api/orgs/acme/webhooks", `{"url":"https://127.0.0.1:1/`+canary+`"}`, &spare)
	w.json("POST", "/api/orgs/acme/webhooks/"+webhook.ID+"/test", "", &delivery)
	w.names["webhook"], w.names["spare webhook"], w.names["deliveryId"] = webhook.ID, spare.ID, delivery.ID
	var response struct{ ID string }
	w.json("POST", "/v1/responses", `{"model":"scripted/m","input":"`+canary+`","background":true}`, &response)
	w.names["response"] = response.ID
	var conversation struct{ ID string }
	w.json("POST", "/v1/conversations", `{"metadata":{"k":"`+canary+`"},"items":[{"role":"user","content":"`+canary+`"}]}`, &conversation)
	var items struct{ Data []struct{ ID string } }
	w.json("GET", "/v1/conversations/"+conversation.ID+"/items", "", &items)
	w.names["conversation"], w.names["item"] = conversation.ID, items.Data[0].ID
	content := `"` + strings.Repeat(canary, 4000) + `"` // too large to be stored in a row
	var ref struct {
		BlobID string `json:"blobId"`
	}
	w.json("PUT", "/api/orgs/acme/agent-executions/"+x+"/content", content, &ref)
	w.names["blob"] = ref.BlobID
	w.json("POST", "/api/orgs/acme/agent-executions/"+x+"/signal", `{"signalName":"large","signalValueRef":{"blobId":"`+ref.BlobID+`"}}`, nil)
	sum := sha256.Sum256([]byte(content))
	w.names["sha256"] = hex.EncodeToString(sum[:])
	if a := w.ask(w.keys["acme admin"], "PUT", "/v1/stream/"+w.names["path"], canary, "Content-Type", "text/plain"); a.status != http.StatusCreated {
		w.Fatalf("the stream: %d %s", a.status, a.body)
	}
}

func (w *world) start(c *client.Client) string {
	w.Helper()
	x, err := c.Start(w.Context(), client.StartRequest{Kind: "agent", Input: json.RawMessage(`"` + canary + `"`), Metadata: json.RawMessage(`{"k":"` + canary + `"}`)})
	w.must(err)
	return x.ID.String()
}

func (w *world) claim(d perdure.Dispatch, worker uuid.UUID) {
	w.Helper()
	claims, err := d.PollAgents(w.Context(), perdure.Poll{WorkerID: worker, Queues: []string{"default"}, Kinds: []string{"agent"}, Slots: 1, Wait: time.Minute})
	w.must(err)
	if len(claims) != 1 {
		w.Fatalf("%d claims", len(claims))
	}
	w.lease = claims[0].Lease
}

// commit adds an entry, a running task and a checkpoint to the execution of the org acme.
func (w *world) commit(d perdure.Dispatch, worker uuid.UUID) {
	w.Helper()
	entry, err := perdure.NewMessageEntry(perdure.UserText(canary))
	w.must(err)
	input := []byte(`"` + canary + `"`)
	key, err := perdure.DefaultTaskKey(w.lease.ExecutionID, "work", input, "")
	w.must(err)
	callKey, err := perdure.DefaultTaskKey(w.lease.ExecutionID, perdure.ModelTaskKind, input, "")
	w.must(err)
	w.names["callId"] = perdure.TaskID(callKey).String()
	_, err = d.Commit(w.Context(), perdure.Commit{
		Lease: w.lease, Number: 1, Entries: []perdure.NewEntry{{Entry: entry}},
		Tasks: []perdure.NewTask{
			{Kind: "work", Input: perdure.Payload{Bytes: input}, InputHash: sha256.Sum256(input), Key: key},
			{Kind: perdure.ModelTaskKind, Input: perdure.Payload{Bytes: input}, InputHash: sha256.Sum256(input), Key: callKey},
		},
		Checkpoint: &perdure.NewCheckpoint{State: perdure.Payload{Bytes: input}, Reason: "r"},
		Questions: []perdure.NewQuestion{{
			QuestionTerms: perdure.QuestionTerms{Kind: "plan", Prompt: canary}, Key: "plan", Details: input,
			DetailsSHA256: perdure.DetailsHash("plan", "", input),
		}, {
			QuestionTerms: perdure.QuestionTerms{Kind: perdure.QuestionApproval, Subject: canary}, Key: "call",
			DetailsSHA256: perdure.DetailsHash(perdure.QuestionApproval, canary, nil),
		}, {
			QuestionTerms: perdure.QuestionTerms{Kind: "plan", Prompt: canary}, Key: "linked", DetailsSHA256: perdure.DetailsHash("plan", "", nil),
		}},
	})
	w.must(err)
	claims, err := d.PollTasks(w.Context(), perdure.Poll{WorkerID: worker, Queues: []string{"default"}, Kinds: []string{"work"}, Slots: 1, Wait: time.Minute})
	w.must(err)
	w.task = claims[0].Lease
	w.names["question"] = perdure.QuestionID(w.lease.ExecutionID, "plan").String()
	w.names["linked question"] = perdure.QuestionID(w.lease.ExecutionID, "linked").String()
	w.names["entryId"], w.names["task"] = entry.ID.String(), w.task.TaskID.String()
}

// grant approves a question of the execution of the org acme, and makes the server remember the
// approval. It also creates a bulk action.
func (w *world) grant() {
	w.Helper()
	id := perdure.QuestionID(w.lease.ExecutionID, "call").String()
	hash := perdure.DetailsHash(perdure.QuestionApproval, canary, nil).String()
	w.json("POST", "/api/orgs/acme/questions/"+id+"/answer", `{"verdict":"approve","detailsSha256":"`+hash+`","remember":{"scope":"run","match":"tool"}}`, nil)
	var grants struct{ Items []struct{ ID string } }
	w.json("GET", "/api/orgs/acme/approval-grants", "", &grants)
	w.names["grant"] = grants.Items[0].ID
	var action struct{ ID string }
	w.json("POST", "/api/orgs/acme/agent-executions/actions", `{"action":"cancel","filter":{"kind":"none"}}`, &action)
	w.names["bulk action"] = action.ID
}

// link creates a link to a question of the execution of the org acme.
func (w *world) link() {
	w.Helper()
	key, _, err := w.CreateKey(w.Context(), "acme", canary+" voter", perdure.KeyApprover)
	w.must(err)
	var made struct{ URL string }
	w.json("POST", "/api/orgs/acme/questions/"+w.names["question"]+"/links", `{"keyId":"`+key.ID.String()+`"}`, &made)
	_, w.names["token"], _ = strings.Cut(made.URL, perdure.LinkPath)
}

// json sends a request with the admin key of the org acme. The request must succeed.
func (w *world) json(method, path, body string, into any) {
	w.Helper()
	a := w.ask(w.keys["acme admin"], method, path, body, "Content-Type", "application/json")
	if a.status >= 300 {
		w.Fatalf("%s %s: %d %s", method, path, a.status, a.body)
	}
	if into != nil {
		w.must(json.Unmarshal([]byte(a.body), into))
	}
}

// answer is an HTTP response with its headers and its body. For a stream, the body is empty.
type answer struct {
	status int
	head   string
	body   string
}

// ask sends a request. It does not read the body of an event stream or a WebSocket.
func (w *world) ask(key, method, path, body string, headers ...string) answer {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+w.HTTPAddress()+path, strings.NewReader(body))
	w.must(err)
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	w.must(err)
	defer res.Body.Close()
	a := answer{status: res.StatusCode}
	var head bytes.Buffer
	w.must(res.Header.Write(&head))
	a.head = head.String()
	endless := strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") || res.StatusCode == http.StatusSwitchingProtocols
	if !endless {
		raw, err := io.ReadAll(res.Body)
		w.must(err)
		a.body = string(raw)
	}
	return a
}
