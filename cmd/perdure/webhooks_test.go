package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
)

// TestWebhooksOnTheCommandLine checks the commands for webhooks: each subcommand, its refusals, and
// that only the command that creates a secret prints the secret.
func TestWebhooksOnTheCommandLine(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	s := serveDev(t, dir)
	var mu sync.Mutex
	var types []string
	status := http.StatusNoContent
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var event struct{ Type string }
		raw, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(raw, &event)
		mu.Lock()
		defer mu.Unlock()
		types = append(types, event.Type)
		w.WriteHeader(status)
	}))
	defer endpoint.Close()
	if said := outputOf(t, dir, "webhooks", "list"); said != "no webhooks" {
		t.Errorf("without webhooks: %q", said)
	}
	launch(t, dir, "webhooks", "create", "http://example.com").wantEnd(2, "url", "https://")
	launch(t, dir, "webhooks", "create", endpoint.URL, "--events", "token").wantEnd(2, "events", "agent.*")
	secret := outputOf(t, dir, "webhooks", "create", endpoint.URL+"/hook", "--events", "agent.failed,question.*")
	if !strings.HasPrefix(secret, "whsec_") || strings.Contains(secret, "\n") {
		t.Errorf("the output of create is %q", secret)
	}
	var list struct{ Items []perdure.Webhook }
	s.get("/webhooks", &list)
	if len(list.Items) != 1 {
		t.Fatalf("webhooks %+v", list.Items)
	}
	id := list.Items[0].ID.String()
	if said := outputOf(t, dir, "webhooks", "list"); !strings.Contains(said, id) || !strings.Contains(said, "agent.failed,question.*") || strings.Contains(said, "whsec") {
		t.Errorf("webhooks list: %s", said)
	}
	launch(t, dir, "webhooks", "test", "x").wantEnd(2, "webhooks list")
	if said := outputOf(t, dir, "webhooks", "test", id); !strings.Contains(said, "the endpoint answered 204") {
		t.Errorf("webhooks test: %s", said)
	}
	mu.Lock()
	status = http.StatusTeapot
	mu.Unlock()
	launch(t, dir, "webhooks", "test", id).wantEnd(1, "pending", "418")
	mu.Lock()
	status = http.StatusNoContent
	if len(types) != 2 || types[0] != "webhook.test" {
		t.Errorf("the endpoint got %v", types)
	}
	mu.Unlock()
	var deliveries struct{ Items []perdure.Delivery }
	s.get("/webhooks/"+id+"/deliveries?status=pending", &deliveries)
	if len(deliveries.Items) != 1 {
		t.Fatalf("pending: %+v", deliveries.Items)
	}
	failed := deliveries.Items[0].ID.String()
	if said := outputOf(t, dir, "webhooks", "deliveries", id, "--status", "pending"); !strings.Contains(said, failed) || !strings.Contains(said, "418") {
		t.Errorf("webhooks deliveries: %s", said)
	}
	launch(t, dir, "webhooks", "deliveries", id, "--status", "lost").wantEnd(2, "dead")
	launch(t, dir, "webhooks", "resend", id, "x").wantEnd(2, "webhooks deliveries")
	if said := outputOf(t, dir, "webhooks", "resend", id, failed); !strings.Contains(said, "204") {
		t.Errorf("webhooks resend: %s", said)
	}
	if rotated := outputOf(t, dir, "webhooks", "rotate", id); !strings.HasPrefix(rotated, "whsec_") || rotated == secret {
		t.Errorf("webhooks rotate: %s", rotated)
	}
	if said := outputOf(t, dir, "webhooks", "rotate", id, "--drop-old"); strings.Contains(said, "whsec_") {
		t.Errorf("webhooks rotate --drop-old: %s", said)
	}
	launch(t, dir, "webhooks", "set", id).wantEnd(2, "--enable")
	if said := outputOf(t, dir, "webhooks", "set", id, "--disable"); !strings.Contains(said, "is disabled") || !strings.Contains(said, "question.*") {
		t.Errorf("webhooks set: %s", said)
	}
	launch(t, dir, "webhooks", "test", id).wantEnd(1, "enable it first")
	if said := outputOf(t, dir, "webhooks", "delete", id); !strings.Contains(said, "is deleted") {
		t.Errorf("webhooks delete: %s", said)
	}
	launch(t, dir, "webhooks", "delete", id).wantEnd(1, "there is no webhook")
	s.signal(syscall.SIGTERM)
	s.wantEnd(0)
}
