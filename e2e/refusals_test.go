package e2e

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	_ "modernc.org/sqlite"
)

// TestCommandLineRefuses checks that mistakes on the command line are refused with an exit code and a
// short text that names the mistake.
func TestCommandLineRefuses(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	taken := busy.Addr().String()
	for _, c := range []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"unknown provider", []string{"run", "--model", "nobody/model", "hi"}, 2, []string{"nobody", "anthropic", "openai"}},
		{"model without provider", []string{"run", "--model", "gpt-5", "hi"}, 2, []string{"gpt-5", "provider/model"}},
		{"missing key of Anthropic", []string{"run", "--model", "anthropic/claude-sonnet-4-5", "hi"}, 2, []string{"ANTHROPIC_API_KEY"}},
		{"missing key of OpenAI", []string{"run", "--model", "openai/gpt-5", "hi"}, 2, []string{"OPENAI_API_KEY"}},
		{"no model at all", []string{"run", "hi"}, 2, []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "--model"}},
		{"workspace that does not exist", []string{"run", "--workspace", "nowhere", "--model", "scripted/x", "hi"}, 2, []string{"nowhere", "does not exist", "--workspace"}},
		{"tool that does not exist", []string{"run", "--tools", "teleport", "--model", "scripted/x", "hi"}, 2, []string{"teleport", "read-file"}},
		{"no prompt", []string{"run"}, 2, []string{"prompt"}},
		{"unknown flag", []string{"run", "--nonsense", "hi"}, 2, []string{"--nonsense"}},
		{"unknown command", []string{"walk"}, 2, []string{"walk", "run"}},
		{"unknown run", []string{"resume", "018f6b1e-7c1a-7d2e-9c3b-0123456789ab"}, 1, []string{"018f6b1e-7c1a-7d2e-9c3b-0123456789ab", "perdure runs"}},
		{"port in use", []string{"server", "--addr", taken, "--grpc-addr", "127.0.0.1:0"}, 1, []string{taken, "in use", "--addr"}},
		{"gRPC port in use", []string{"dev", "--addr", "127.0.0.1:0", "--grpc-addr", taken}, 1, []string{taken, "in use", "--grpc-addr"}},
		{"open to the world without a key", []string{"server", "--addr", "0.0.0.0:0", "--grpc-addr", "127.0.0.1:0"}, 2, []string{"perdure keys create"}},
		{"dev open to the world", []string{"dev", "--addr", "0.0.0.0:0", "--grpc-addr", "127.0.0.1:0"}, 2, []string{"loopback"}},
		{"server that is not there", []string{"runs", "--server", "http://127.0.0.1:1"}, 1, []string{"127.0.0.1:1", "--server"}},
		{"worker without a server", []string{"worker"}, 2, []string{"--server"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newConsole(t).perdure(c.args...)
			if code := p.exit(); code != c.code {
				t.Errorf("the exit code is %d, not %d", code, c.code)
			}
			text := p.output.String()
			for _, want := range c.says {
				if !strings.Contains(text, want) {
					t.Errorf("%q does not say %q", text, want)
				}
			}
			if strings.Contains(text, "goroutine ") || strings.Count(text, "\n") > 12 {
				t.Errorf("these are not words for a person:\n%s", text)
			}
		})
	}
}

// TestDatabaseOfANewerVersion checks that perdure changes nothing in a data directory that a newer
// version has written.
func TestDatabaseOfANewerVersion(t *testing.T) {
	c := newConsole(t)
	if code := c.perdure("runs").exit(); code != 0 {
		t.Fatalf("perdure runs ended with %d", code)
	}
	path := filepath.Join(filepath.Dir(c.journal), "data", "perdure.db")
	c.newer = true
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (4711, 1)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"runs"}, {"dev", "--addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0"}} {
		p := c.perdure(args...)
		if code := p.exit(); code != 1 {
			t.Errorf("perdure %s ended with %d", args[0], code)
		}
		if text := p.output.String(); !strings.Contains(text, "newer") && !strings.Contains(text, "upgrade") {
			t.Errorf("perdure %s says %q", args[0], text)
		}
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the database was changed (%v)", err)
	}
}

// TestServerRefuses checks that invalid requests of a client are refused with the code and the invalid
// field.
func TestServerRefuses(t *testing.T) {
	s := newDeployment(t, setup{dev: true})
	model := []perdure.ModelConfig{{Provider: "scripted", ModelID: "x"}}
	for _, c := range []struct {
		name string
		r    client.StartRequest
		code perdure.Code
		says string
	}{
		{"unknown provider", client.StartRequest{UserPrompt: "hi", Models: []perdure.ModelConfig{{Provider: "nobody", ModelID: "m"}}}, perdure.InvalidArgument, "nobody"},
		{"unknown kind", client.StartRequest{Kind: "nonesuch", Input: json.RawMessage(`{}`)}, perdure.InvalidArgument, perdure.ReactKind},
		{"no model", client.StartRequest{UserPrompt: "hi"}, perdure.InvalidArgument, "models"},
		{"workspace outside", client.StartRequest{UserPrompt: "hi", Models: model, Workspace: "../.."}, perdure.InvalidArgument, "workspace"},
		{"body over 8 MiB", client.StartRequest{UserPrompt: strings.Repeat("x", 9<<20), Models: model}, perdure.PayloadTooLarge, "8 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x, err := s.Start(t.Context(), c.r)
			if !perdure.IsCode(err, c.code) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, %v; wanted %s that says %q", x, err, c.code, c.says)
			}
		})
	}
	stranger := s.With(func(o *client.Options) { o.Key = "wrong" })
	if _, err := stranger.ListPage(t.Context(), client.ExecutionFilter{}, client.PageOptions{}); !perdure.IsCode(err, perdure.Unauthenticated) {
		t.Errorf("a wrong key: %v", err)
	}
}

// TestModelThatCannotBeCalled checks that a run whose model cannot be called reports the reason and
// waits. A run or a definition is refused if no worker allows the endpoint of its model. Nothing is
// ever sent to that endpoint.
func TestModelThatCannotBeCalled(t *testing.T) {
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a call arrived where none may go: %s", r.URL)
	}))
	defer thief.Close()
	s := newDeployment(t, setup{dev: true, env: []string{"SECRET=secret"}})
	id := s.start(client.StartRequest{UserPrompt: "hi", Models: []perdure.ModelConfig{{Provider: "anthropic", ModelID: "claude-sonnet-4-5"}}})
	s.idle(id, 1)
	said := slices.ContainsFunc(s.events(id), func(e client.Event) bool {
		return e.Type == perdure.EventError && strings.Contains(string(e.Data), "ANTHROPIC_API_KEY")
	})
	if !said {
		t.Error("no error event says which key is missing")
	}
	// By now the worker has registered the endpoints that it allows.
	models := []perdure.ModelConfig{{Provider: "openai", ModelID: "m", BaseURL: thief.URL + "/v1", APIKeyEnv: "SECRET"}}
	_, started := s.Start(t.Context(), client.StartRequest{UserPrompt: "hi", Models: models})
	_, created := s.CreateDefinition(t.Context(), perdure.Definition{Name: "n", Slug: "n", Models: models})
	for what, err := range map[string]error{"a run": started, "a definition": created} {
		if !perdure.IsCode(err, perdure.InvalidArgument) || !strings.Contains(err.Error(), "models[0].baseUrl") || !strings.Contains(err.Error(), "OPENAI_API_KEY") {
			t.Errorf("%s with an endpoint that no worker allows gives %v", what, err)
		}
	}
}

// TestDevRefusesForeignRequests checks that requests to dev are refused without the token, for a
// foreign host name, and from a page of another origin.
func TestDevRefusesForeignRequests(t *testing.T) {
	s := newDeployment(t, setup{dev: true})
	for _, c := range []struct {
		name   string
		header http.Header
		host   string
		status int
	}{
		{"no key", nil, "", http.StatusUnauthorized},
		{"a name that an attacker resolves to loopback", nil, "attacker.example", http.StatusForbidden},
		{"a page of another origin", http.Header{"Origin": {"https://attacker.example"}}, "", http.StatusForbidden},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := strings.NewReader(`{"userPrompt": "hi", "models": [{"provider": "scripted", "modelId": "x"}]}`)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/api/orgs/default/agent-executions", body)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			for name, values := range c.header {
				req.Header[name] = values
			}
			req.Host, req.Close = c.host, true
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if text, _ := io.ReadAll(resp.Body); resp.StatusCode != c.status {
				t.Errorf("answered %d, not %d: %s", resp.StatusCode, c.status, text)
			}
		})
	}
}
