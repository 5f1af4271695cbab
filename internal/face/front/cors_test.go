package front_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/face"
)

// methodsOfAPI returns the methods of the operations below /api/ in the OpenAPI document.
func methodsOfAPI(t *testing.T, h *testServer) map[string]bool {
	t.Helper()
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(h.Call("GET", "./openapi.json", "").Want(200, nil).Body, &document); err != nil {
		t.Fatal(err)
	}
	methods := map[string]bool{}
	for path, operations := range document.Paths {
		for method := range operations {
			if strings.HasPrefix(path, "/api/") && method != "parameters" {
				methods[strings.ToUpper(method)] = true
			}
		}
	}
	if len(methods) < 5 {
		t.Errorf("the OpenAPI document has only the methods %v", methods)
	}
	return methods
}

// TestPagesOfOtherOrigins checks that pages of a configured origin may use the API with a key. The
// responses to pages of other origins lack the CORS headers, so browsers hide them.
func TestPagesOfOtherOrigins(t *testing.T) {
	const app = "https://app.example.com"
	h := open(t, func(c *face.Config) { c.Origins = []string{app} })
	ask := h.Call("OPTIONS", "/agent-executions", "", "Authorization", "", "Origin", app, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization")
	ask.Want(204, nil)
	if got := ask.Header.Get("Access-Control-Allow-Origin"); got != app {
		t.Errorf("the preflight allows %q", got)
	}
	for _, name := range []string{"Authorization", "Content-Type", "Last-Event-ID", "If-Match", "Idempotency-Key"} {
		if !strings.Contains(ask.Header.Get("Access-Control-Allow-Headers"), name) {
			t.Errorf("the header %s is not allowed", name)
		}
	}
	if ask.Header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("the preflight says %v", ask.Header)
	}
	allowed := strings.Split(ask.Header.Get("Access-Control-Allow-Methods"), ", ")
	for method := range methodsOfAPI(t, h) {
		if !slices.Contains(allowed, method) {
			t.Errorf("the method %s is not allowed", method)
		}
	}
	got := h.Call("GET", "/agent-executions", "", "Origin", app).Want(200, nil)
	if got.Header.Get("Access-Control-Allow-Origin") != app || got.Header.Get("Vary") != "Origin" {
		t.Errorf("an answer says %v", got.Header)
	}
	denied := h.Call("GET", "/agent-executions", "", "Authorization", "", "Origin", app)
	if denied.Problem(401, "unauthenticated", ""); denied.Header.Get("Access-Control-Allow-Origin") != app {
		t.Error("the page cannot read why it is refused")
	}
	for _, origin := range []string{"https://evil.example.com", "null", app + ".evil.example.com"} {
		other := h.Call("OPTIONS", "/agent-executions", "", "Authorization", "", "Origin", origin, "Access-Control-Request-Method", "POST")
		if other.Status == 204 || other.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s is allowed: %d %v", origin, other.Status, other.Header)
		}
	}
}
