package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/server"
)

// TestRunsBeforeTheFirstWorkerAreUnavailable checks requests that need a worker of the org. Before
// any worker has registered, these requests get 503 with Retry-After. Once a worker has registered,
// a request with an unknown kind fails with invalid_argument.
func TestRunsBeforeTheFirstWorkerAreUnavailable(t *testing.T) {
	w := &world{T: t, Server: openServer(t, server.Config{HTTPAddr: "127.0.0.1:0", GRPCAddr: "127.0.0.1:0"})}
	models := `"models":[{"provider":"scripted","modelId":"m"}]`
	requests := map[string]string{
		"/api/orgs/default/agent-executions":  `{"userPrompt":"x",` + models + `}`,
		"/api/orgs/default/agent-definitions": `{"name":"d","slug":"d",` + models + `}`,
		"/v1/responses":                       `{"model":"scripted/m","input":"x","background":true}`,
	}
	for path, body := range requests {
		a := w.ask(w.Token(), "POST", path, body, "Content-Type", "application/json")
		if a.status != http.StatusServiceUnavailable || !strings.Contains(a.head, "Retry-After: 1\r\n") || !strings.Contains(a.body, "no worker") {
			t.Errorf("%s is answered %d %s%s", path, a.status, a.head, a.body)
		}
	}
	_, err := w.Dispatch("default").Register(t.Context(), perdure.Registration{
		WorkerID: uuid.New(), Queues: []string{"default"}, Agents: []perdure.KindSpec{{Kind: perdure.ReactKind, Providers: []string{"scripted"}}},
	})
	w.must(err)
	for path, body := range requests {
		if a := w.ask(w.Token(), "POST", path, body, "Content-Type", "application/json"); a.status/100 != 2 {
			t.Errorf("with a worker %s is answered %d %s", path, a.status, a.body)
		}
	}
	a := w.ask(w.Token(), "POST", "/api/orgs/default/agent-executions", `{"kind":"nobody"}`, "Content-Type", "application/json")
	if a.status != http.StatusBadRequest || !strings.Contains(a.body, "known kinds are: react-agent") {
		t.Errorf("an unknown kind is answered %d %s", a.status, a.body)
	}
}
