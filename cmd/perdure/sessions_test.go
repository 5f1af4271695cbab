package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
)

func TestPublicURLIsChecked(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	for _, wrong := range []string{"perdure.example.com", "ftp://x", "https://", "https://x/path", "https://x?q", "https://me@x", "https://x#f", "https://x:0", "https://x:70000", "https://:443", "https://x:"} {
		launch(t, dir, "server", "--addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0", "--public-url", wrong).wantEnd(2, "--public-url", "scheme and host")
	}
}

// TestSessionsOnTheCommandLine checks that the commands for sessions list and end sessions.
func TestSessionsOnTheCommandLine(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	s := serveDev(t, dir)
	key := outputOf(t, dir, "keys", "create", "--role", "client", "laptop")
	if said := outputOf(t, dir, "sessions", "list"); said != "no sessions" {
		t.Errorf("without sessions: %q", said)
	}
	res, err := s.http.Post(strings.TrimSuffix(s.url, "/api/orgs/default")+"/api/login", "application/json", strings.NewReader(`{"key":"`+key+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var list struct{ Items []perdure.Session }
	s.get("/sessions", &list)
	if len(list.Items) != 1 {
		t.Fatalf("sessions %+v", list.Items)
	}
	id := list.Items[0].ID.String()
	if said := outputOf(t, dir, "sessions", "list"); !strings.Contains(said, id) || !strings.Contains(said, "laptop") || !strings.Contains(said, "Go-http-client") {
		t.Errorf("sessions list: %s", said)
	}
	launch(t, dir, "sessions", "revoke", "x").wantEnd(2, "sessions list")
	if said := outputOf(t, dir, "sessions", "revoke", id); said != "session "+id+" of the key laptop has ended" {
		t.Errorf("sessions revoke: %s", said)
	}
	launch(t, dir, "sessions", "revoke", id).wantEnd(1, "there is no session")
	s.signal(syscall.SIGTERM)
	s.wantEnd(0)
}
