package main

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/internal/longtest"
)

// outputOf runs a command to its end and returns its standard output.
func outputOf(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("perdure", args...)
	cmd.Dir, cmd.Env = dir, clean(dir)
	out, err := cmd.Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			t.Fatalf("perdure %s: %v: %s", strings.Join(args, " "), err, failed.Stderr)
		}
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// caller returns a client for an org of the server. The client authenticates with a key of the org.
func (s *devServer) caller(t *testing.T, org, key string) *client.Client {
	t.Helper()
	c, err := client.New(client.Options{BaseURL: strings.TrimSuffix(s.url, "/api/orgs/default"), Key: key, Org: org})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func wantCode(t *testing.T, what string, err error, code perdure.Code) {
	t.Helper()
	if !perdure.IsCode(err, code) {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

// eventuallyErr repeats a call until it fails with the code. If the code is "", it repeats the call
// until it succeeds.
func eventuallyErr(t *testing.T, what string, code perdure.Code, call func() error) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		err := call()
		if code == "" && err == nil || perdure.IsCode(err, code) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v, want %q", what, err, code)
		}
		_ = connection.Pause(t.Context(), 20*time.Millisecond)
	}
}

// TestOrgsOfOneServerAreSeparate creates two orgs of one server, each with a key, on the command line. It
// checks that neither org can see the run of the other. It then disables one org and enables it again.
func TestOrgsOfOneServerAreSeparate(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	write(t, dir, "s", "turn\n  text First.\nturn\n  text Second.\n")
	s := serveDev(t, dir)
	for _, org := range []string{"acme", "bolt"} {
		outputOf(t, dir, "orgs", "create", org)
	}
	key := func(org, role string) string {
		return outputOf(t, dir, "keys", "create", "--org", org, "--role", role, role)
	}
	acmeKey, boltKey := key("acme", "client"), key("bolt", "client")
	worker := launch(t, dir, "worker", "--server", grpcOf(t, dir), "--key", key("acme", "worker"), "--data", dir+"/w")
	worker.until("workspace")
	acme, bolt := s.caller(t, "acme", acmeKey), s.caller(t, "bolt", boltKey)

	var x *perdure.Execution
	eventuallyErr(t, "a run of acme", "", func() (err error) {
		x, err = acme.Start(t.Context(), client.StartRequest{UserPrompt: "go", Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "s"}}})
		return err
	})
	waiting := func(status perdure.Status) func() error {
		return func() error {
			got, err := acme.Get(t.Context(), x.ID)
			if err == nil && (got.Status != status || got.WaitReason == "task") {
				return errors.New("the run is " + string(got.Status))
			}
			return err
		}
	}
	eventuallyErr(t, "the run waits", "", waiting(perdure.StatusWaiting))

	_, err := bolt.Get(t.Context(), x.ID)
	wantCode(t, "another org's run", err, perdure.NotFound)
	_, err = s.caller(t, "bolt", acmeKey).ListPage(t.Context(), client.ExecutionFilter{}, client.PageOptions{})
	wantCode(t, "another org's list", err, perdure.NotFound)
	_, err = s.caller(t, "nobody", s.token).ListPage(t.Context(), client.ExecutionFilter{}, client.PageOptions{})
	wantCode(t, "an org that there is not", err, perdure.NotFound)
	for _, denied := range []*client.Client{acme, s.caller(t, "acme", key("acme", "admin"))} {
		_, err = denied.CreateOrg(t.Context(), "mine")
		wantCode(t, "an org made with a stored key", err, perdure.PermissionDenied)
		_, err = denied.EnableOrg(t.Context(), "acme")
		wantCode(t, "an org enabled with a stored key", err, perdure.PermissionDenied)
	}

	// Disabling the org ends the open stream of its log. Requests with the org's key are refused, and so are
	// an operator's requests for the org.
	ended := make(chan error, 1)
	began := make(chan struct{}, 1)
	go func() {
		var last error
		for _, err := range acme.Follow(t.Context(), x.ID, "") {
			select {
			case began <- struct{}{}:
			default:
			}
			last = err
		}
		ended <- last
	}()
	<-began
	outputOf(t, dir, "orgs", "disable", "acme")
	wantCode(t, "the open stream", <-ended, perdure.PermissionDenied)
	_, err = acme.ListPage(t.Context(), client.ExecutionFilter{}, client.PageOptions{})
	wantCode(t, "a request of a disabled org", err, perdure.PermissionDenied)
	_, err = s.caller(t, "acme", s.token).ListPage(t.Context(), client.ExecutionFilter{}, client.PageOptions{})
	wantCode(t, "an operator's request in it", err, perdure.PermissionDenied)
	if _, err := bolt.ListPage(t.Context(), client.ExecutionFilter{}, client.PageOptions{}); err != nil {
		t.Errorf("another org's: %v", err)
	}

	// Once the org is enabled again, its key works as before, and its run continues with the same worker.
	outputOf(t, dir, "orgs", "enable", "acme")
	eventuallyErr(t, "the key again", "", waiting(perdure.StatusWaiting))
	if _, err := acme.Signal(t.Context(), x.ID, client.UserMessage("go on")); err != nil {
		t.Fatal(err)
	}
	eventuallyErr(t, "the run goes on", "", func() error {
		n := 0
		for e, err := range acme.Entries(t.Context(), x.ID) {
			if err != nil {
				return err
			}
			if e.Role == perdure.RoleAssistant {
				n++
			}
		}
		if n < 2 {
			return errors.New("there is no second answer")
		}
		return nil
	})
}
