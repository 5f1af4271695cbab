package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
)

// TestLinksByCommand checks the command perdure questions link: what it prints, that the printed
// link opens the question, and that a link can be revoked.
func TestLinksByCommand(t *testing.T) {
	longtest.Skip(t, "seconds")
	a := newAskingAt(t, "127.0.0.1:0")
	launch(t, a.dir, "run", "--detach", "--model", "scripted/s", "x").wantEnd(0)
	id := a.claim().ask("one", deploy, `{"v":1}`).String()
	key, _, err := a.server.CreateKey(t.Context(), "default", "ann", perdure.KeyApprover)
	if err != nil {
		t.Fatal(err)
	}
	launch(t, a.dir, "questions", "link", id).wantEnd(2, "no key is named")
	launch(t, a.dir, "questions", "link", id, "--key-id", "ann").wantEnd(2, "no id of a key")
	launch(t, a.dir, "questions", "link", id, "--key-id", key.ID.String(), "--expires", "200h").wantEnd(2, "expires")
	url := strings.TrimSpace(launch(t, a.dir, "questions", "link", id, "--key-id", key.ID.String(), "--expires", "2h").wantEnd(0, "this is the only time"))
	if !strings.HasPrefix(url, "http://"+a.server.HTTPAddress()+perdure.LinkPath) {
		t.Fatalf("the command printed %q", url)
	}
	open := func() (int, string) {
		t.Helper()
		res, err := http.Get(url) //nolint:noctx // a test
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		page, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(page)
	}
	if status, page := open(); status != 200 || !strings.Contains(page, "You answer as ann.") {
		t.Errorf("the link leads to %d %s", status, page)
	}
	launch(t, a.dir, "questions", "link", id, "--revoke").wantEnd(0, "are revoked")
	if status, _ := open(); status != 404 {
		t.Errorf("the revoked link leads to %d", status)
	}
}

// TestALinkNeedsAServer checks that perdure questions link fails if the server does not listen on an
// address that a link could lead to.
func TestALinkNeedsAServer(t *testing.T) {
	longtest.Skip(t, "seconds")
	a := newAskingServer(t)
	launch(t, a.dir, "run", "--detach", "--model", "scripted/s", "x").wantEnd(0)
	id := a.claim().ask("one", deploy, `{"v":1}`).String()
	key, _, err := a.server.CreateKey(t.Context(), "default", "ann", perdure.KeyApprover)
	if err != nil {
		t.Fatal(err)
	}
	launch(t, a.dir, "questions", "link", id, "--key-id", key.ID.String()).wantEnd(1, "serves no pages")
}
