package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// verdict says whether unmodified libraries accepted one delivery. Verified has the error of each library
// and secret; "" means that the library accepted the delivery. Forged says, for each library and secret,
// whether the library also accepted the delivery with a changed body or id; "" means that it did not.
type verdict struct {
	ID, Type         string
	AgentExecutionID string
	Verified, Forged map[string]string
}

// receiver is a Node.js process that receives the deliveries of webhooks and verifies them with unmodified
// libraries.
type receiver struct {
	t     *testing.T
	input io.Writer
	lines *bufio.Scanner
	url   string
}

func newReceiver(t *testing.T, home string) *receiver {
	t.Helper()
	cmd := exec.CommandContext(within(t), nodeOfClients(t), "webhooks.mjs")
	cmd.Dir, cmd.Env = "clients", environment(home)
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	r := &receiver{t: t, input: input, lines: bufio.NewScanner(output)}
	var port struct{ Port int }
	r.next(&port)
	r.url = fmt.Sprintf("http://127.0.0.1:%d/hook", port.Port)
	return r
}

func (r *receiver) next(into any) {
	r.t.Helper()
	if !r.lines.Scan() {
		r.t.Fatalf("the receiver has ended: %v", r.lines.Err())
	}
	if err := json.Unmarshal(r.lines.Bytes(), into); err != nil {
		r.t.Fatalf("%s: %v", r.lines.Bytes(), err)
	}
}

// knows sends the secrets of the webhooks to the receiver.
func (r *receiver) knows(secrets map[string]string) {
	r.t.Helper()
	raw, err := json.Marshal(map[string]any{"secrets": secrets})
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(r.input, "%s\n", raw); err != nil {
		r.t.Fatal(err)
	}
	var ready struct{ Ready []string }
	r.next(&ready)
	if len(ready.Ready) != len(secrets) {
		r.t.Fatalf("the receiver knows %v", ready.Ready)
	}
}

// TestStockLibrariesVerifyDeliveries checks that the unmodified libraries standardwebhooks and svix
// accept the deliveries of a run, and refuse a delivery with another secret or changed content.
// While a secret is rotated, a library accepts a delivery with the old secret and with the new one.
func TestStockLibrariesVerifyDeliveries(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, setup{dev: true})
	s.write("hello", "turn\n text Hello.\n")
	r := newReceiver(t, s.root)
	made, err := s.CreateWebhook(t.Context(), client.WebhookSettings{URL: r.url, Events: []string{"agent.created", "agent.completed"}})
	if err != nil {
		t.Fatal(err)
	}
	foreign := "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	accepted := func(v verdict, names ...string) {
		t.Helper()
		for name, wrong := range v.Verified {
			_, secret, _ := strings.Cut(name, " ")
			if (wrong == "") != slices.Contains(names, secret) {
				t.Errorf("%s: %s says %q", v.Type, name, wrong)
			}
		}
		for name, wrong := range v.Forged {
			if wrong != "" {
				t.Errorf("%s: %s has accepted a forged one", v.Type, name)
			}
		}
	}
	r.knows(map[string]string{"own": made.Secret, "foreign": foreign})
	id := s.start(client.StartRequest{UserPrompt: "hi", Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "hello"}}, OneShot: true})
	s.ended(id)
	types := map[string]bool{}
	for range 2 {
		var v verdict
		r.next(&v)
		accepted(v, "own")
		types[v.Type] = true
		if v.AgentExecutionID != id.String() || len(v.Verified) != 4 || len(v.Forged) != 4 {
			t.Errorf("the delivery is %+v", v)
		}
	}
	if got := slices.Sorted(maps.Keys(types)); !slices.Equal(got, []string{"agent.completed", "agent.created"}) {
		t.Errorf("the events are %v", got)
	}
	rotated, err := s.RotateWebhook(t.Context(), made.ID, false)
	if err != nil {
		t.Fatal(err)
	}
	r.knows(map[string]string{"old": made.Secret, "new": rotated.Secret, "foreign": foreign})
	test := func() (v verdict) {
		t.Helper()
		if _, err := s.TestWebhook(t.Context(), made.ID); err != nil {
			t.Fatal(err)
		}
		r.next(&v)
		return v
	}
	accepted(test(), "old", "new")
	if _, err := s.RotateWebhook(t.Context(), made.ID, true); err != nil {
		t.Fatal(err)
	}
	accepted(test(), "new")
}

// TestAKilledServerLosesNoEvent kills the server while it sends some deliveries and has stored others
// without sending them. After a restart every event arrives. A delivery that was being sent during
// the kill is sent again with the same id.
func TestAKilledServerLosesNoEvent(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, setup{dev: true})
	var mu sync.Mutex
	seen := map[string]int{}
	hold := make(chan struct{})
	holding := true
	endpoint := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		seen[r.Header.Get("webhook-id")]++
		wait := holding
		mu.Unlock()
		if wait {
			<-hold
		}
	}))
	defer endpoint.Close()
	w, err := s.CreateWebhook(t.Context(), client.WebhookSettings{URL: endpoint.URL, Events: []string{"agent.created"}})
	if err != nil {
		t.Fatal(err)
	}
	const runs = 10
	for range runs {
		s.start(client.StartRequest{UserPrompt: "hi", Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "none"}}})
	}
	const atOnce = 4 // maximum number of concurrent requests to one webhook
	eventually(t, "deliveries are being sent", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(seen) == atOnce
	})
	s.server.kill()
	mu.Lock()
	sent := maps.Clone(seen)
	holding = false
	mu.Unlock()
	close(hold)
	s.server = launch(t, s.server.command)
	eventually(t, "every event is delivered", func() bool {
		n := 0
		for d, err := range s.Deliveries(t.Context(), w.ID, perdure.DeliveryDelivered) {
			if err != nil {
				return false
			}
			if d.Attempts != 1 {
				t.Fatalf("the delivery is %+v", d)
			}
			n++
		}
		return n == runs
	})
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != runs {
		t.Errorf("%d events arrived, want %d", len(seen), runs)
	}
	for id, n := range seen {
		want := 1
		if sent[id] > 0 {
			want = 2 // one delivery before the kill, and one after it
		}
		if _, err := uuid.Parse(id); err != nil || n != want {
			t.Errorf("%s arrived %d times, want %d", id, n, want)
		}
	}
}
