package server_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/longtest"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
)

// limit creates a key with limits. It stores the key's secret in w.keys under the key's name.
func (w *world) limit(name string, role perdure.KeyRole, l perdure.KeyLimits) uuid.UUID {
	w.Helper()
	k, err := w.client("acme", "admin").NewKey(w.Context(), client.KeyRequest{Name: name, Role: role, Limits: l})
	w.must(err)
	w.keys["acme "+name] = k.Key
	return k.ID
}

// TestTooManyRequests sends requests faster than the rate limit of their key allows. REST, the Responses
// API, streams and gRPC must refuse them with an error that says how long to wait. Heartbeats of workers
// are not limited.
func TestTooManyRequests(t *testing.T) {
	w := newWorld(t)
	w.limit("slow", perdure.KeyClient, perdure.KeyLimits{RequestsPerSecond: 1})
	w.limit("slow worker", perdure.KeyWorker, perdure.KeyLimits{RequestsPerSecond: 1})
	for _, path := range []string{"/api/orgs/acme/agent-executions", "/v1/models", "/v1/stream/" + w.names["path"] + "?offset=-1"} {
		refused := false
		for range 50 {
			a := w.ask(w.keys["acme slow"], "GET", path, "")
			if a.status != 429 {
				continue
			}
			refused = true
			if !strings.Contains(a.head, "Retry-After: 1\r\n") || !strings.Contains(a.body, "1 requests a second") || !strings.Contains(a.body, "--requests-per-second") {
				t.Errorf("%s: %s%s", path, a.head, a.body)
			}
			break
		}
		if !refused {
			t.Errorf("%s was never refused", path)
		}
	}
	calls := perdurev1.NewAgentDispatchClient(connect(t, w.Server))
	beats := perdurev1.NewWorkerDispatchClient(connect(t, w.Server))
	ctx, refused := withKey(t.Context(), w.keys["acme slow worker"]), false
	for n := 0; n < 50 && !refused; n++ {
		_, err := calls.PollAgent(ctx, &perdurev1.PollAgentRequest{})
		if grpcstatus.Code(err) == codes.ResourceExhausted {
			refused = true
			pause := time.Duration(0)
			for _, d := range grpcstatus.Convert(err).Details() {
				if info, ok := d.(*errdetails.RetryInfo); ok {
					pause = info.GetRetryDelay().AsDuration()
				}
			}
			if pause <= 0 || pause > time.Second {
				t.Errorf("the pause is %s: %v", pause, err)
			}
		}
		if _, err := beats.Heartbeat(ctx, &perdurev1.HeartbeatRequest{}); err != nil {
			t.Errorf("a heartbeat: %v", err)
		}
	}
	if !refused {
		t.Error("polls were never refused")
	}
}

// TestClientHeedsTheLimit checks that the Go client repeats a rate-limited request: five calls succeed
// with a key of two requests per second.
func TestClientHeedsTheLimit(t *testing.T) {
	longtest.Skip(t, "seconds")
	w := newWorld(t)
	w.limit("slow", perdure.KeyClient, perdure.KeyLimits{RequestsPerSecond: 2})
	c := w.client("acme", "slow")
	for range 5 {
		if _, err := c.ListPage(t.Context(), client.ExecutionFilter{}, client.PageOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestQuotasOverREST checks that REST sets the limits of a key and returns them with the key's usage. A
// request over a quota gets 429 with Retry-After. After the limit is removed, the request succeeds.
func TestQuotasOverREST(t *testing.T) {
	w := newWorld(t)
	id := w.limit("shop", perdure.KeyClient, perdure.KeyLimits{MaxRunning: 1, MaxStored: 3000})
	shop := w.client("acme", "shop")
	x, err := shop.Start(t.Context(), client.StartRequest{Kind: "agent", Input: json.RawMessage(`"hello"`)})
	w.must(err)
	a := w.ask(w.keys["acme shop"], "POST", "/api/orgs/acme/agent-executions", `{"kind":"agent"}`, "Content-Type", "application/json")
	if a.status != 429 || !strings.Contains(a.head, "Retry-After: ") || !strings.Contains(a.body, "1 executions of this key are at work, and 1 may be") {
		t.Errorf("a second execution: %d %s%s", a.status, a.head, a.body)
	}
	if a = w.ask(w.keys["acme shop"], "POST", "/v1/responses", `{"model":"scripted/m","input":"hi","background":true}`, "Content-Type", "application/json"); a.status != 429 || !strings.Contains(a.head, "Retry-After: ") {
		t.Errorf("a response: %d %s%s", a.status, a.head, a.body)
	}
	stream := func(method, body string) int {
		return w.ask(w.keys["acme shop"], method, "/v1/stream/shop", body, "Content-Type", "text/plain").status
	}
	if got := []int{stream("PUT", strings.Repeat("s", 1000)), stream("POST", strings.Repeat("s", 1000)), stream("POST", strings.Repeat("s", 1000))}; got[0] != 201 || got[1] != 204 || got[2] != 429 {
		t.Errorf("three thousand bytes into a stream: %v", got)
	}
	var conversation struct{ ID string }
	add := func(path string, size int) int {
		a := w.ask(w.keys["acme shop"], "POST", path, `{"items":[{"role":"user","content":"`+strings.Repeat("s", size)+`"}]}`, "Content-Type", "application/json")
		if a.status == 200 && path == "/v1/conversations" {
			w.must(json.Unmarshal([]byte(a.body), &conversation))
		}
		return a.status
	}
	if got := []int{add("/v1/conversations", 2000), add("/v1/conversations", 100)}; got[0] != 429 || got[1] != 200 {
		t.Errorf("conversations: %v", got)
	}
	items := "/v1/conversations/" + conversation.ID + "/items"
	if got := []int{add(items, 100), add(items, 2000)}; got[0] != 200 || got[1] != 429 {
		t.Errorf("items into a conversation: %v", got)
	}
	_, err = w.client("acme", "admin").Cancel(t.Context(), x.ID)
	w.must(err)
	zero := int64(0)
	changed, err := w.client("acme", "admin").SetKeyLimits(t.Context(), id, client.KeyChange{MaxStored: &zero})
	w.must(err)
	if changed.Limits != (perdure.KeyLimits{MaxRunning: 1}) {
		t.Errorf("the limits are %+v", changed.Limits)
	}
	if got := stream("POST", strings.Repeat("s", 5000)); got != 204 {
		t.Errorf("without the limit: %d", got)
	}
	for k, err := range w.client("acme", "admin").Keys(t.Context()) {
		w.must(err)
		if k.ID == id && (k.Use == nil || k.Use.Running != 0 || k.Use.Stored < 7000 || k.Limits.MaxRunning != 1) {
			t.Errorf("the key is shown with %+v of %+v", k.Use, k.Limits)
		}
	}
}

// TestAuditOverREST checks that an audit record names the caller, the request and the remote address of
// the change. No HTTP method changes the audit log. A request id that is too long is replaced.
func TestAuditOverREST(t *testing.T) {
	w := newWorld(t)
	a := w.ask(w.keys["acme admin"], "POST", "/api/orgs/acme/keys", `{"name":"noted","role":"client"}`, "Content-Type", "application/json", "X-Request-Id", "mine-1")
	var made struct{ ID, Key string }
	w.must(json.Unmarshal([]byte(a.body), &made))
	if !strings.Contains(a.head, "X-Request-Id: mine-1\r\n") {
		t.Errorf("the request's id is not answered: %s", a.head)
	}
	var all []perdure.AuditRecord
	for r, err := range w.client("acme", "admin").Audit(t.Context()) {
		w.must(err)
		all = append(all, r)
	}
	if r := all[0]; r.Action != perdure.AuditKeyCreated || r.SubjectID.String() != made.ID || r.SubjectName != "noted" || r.After == "" || r.Before != "" ||
		r.Actor.KeyID == nil || r.Actor.Name != canary+" admin" || r.Actor.RequestID != "mine-1" || !strings.HasPrefix(r.Actor.RemoteAddress, "127.0.0.1:") {
		t.Errorf("the newest record is %+v of %+v", r.Actor, r)
	}
	if len(all) < 6 || all[len(all)-1].Actor.Name != "process" {
		t.Errorf("%d records; the first key was made by %+v", len(all), all[len(all)-1].Actor)
	}
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		if a := w.ask(w.keys["acme admin"], method, "/api/orgs/acme/audit", "{}"); a.status != 405 {
			t.Errorf("%s of the audit log: %d", method, a.status)
		}
	}
	odd := w.ask(w.keys["acme admin"], "GET", "/api/orgs/acme/keys", "", "X-Request-Id", strings.Repeat("x", 500))
	if strings.Contains(odd.head, "xxxx") || !strings.Contains(odd.head, "X-Request-Id: req_") {
		t.Errorf("an overlong id is taken: %s", odd.head)
	}
}
