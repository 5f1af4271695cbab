package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/worker"
	"github.com/perdure/perdure/worker/remote"
)

// TestStartRunsAnAgentOfOnesOwn checks perdure start: it waits for a worker that has just been
// started, follows the run to its end, and refuses wrong arguments.
func TestStartRunsAnAgentOfOnesOwn(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	launch(t, dir, "start", "greeter", `"ann"`).wantEnd(2, "no server is up")
	launch(t, dir, "start").wantEnd(2, "KIND is missing", `perdure run "..." starts the built-in agent, react-agent`)
	serveDev(t, dir)
	launch(t, dir, "start").wantEnd(2, "KIND is missing", "the registered kinds are:\n    react-agent     the built-in agent; perdure run \"...\" starts it\n")
	launch(t, dir, "start", "react-agent", `"ann"`).wantEnd(2, "perdure run")
	launch(t, dir, "start", "greeter", `ann`).wantEnd(2, "the value is no JSON")
	launch(t, dir, "start", "greeter", "--metadata", "x").wantEnd(2, "--metadata")

	early := startEarly(t, dir)
	work(t, dir, func(ctx agent.Context, name string) (string, error) {
		for _, letter := range []string{"h", "i"} {
			_, err := agent.Step(ctx, "spell", func(context.Context) (string, error) { return letter, nil }, agent.StepInstance(letter))
			if err != nil {
				return "", err
			}
		}
		v, err := ctx.WaitSignal("word", 0)
		return "Hello " + name + " " + string(v.Value), err
	})
	early()
	p := launch(t, dir, "start", "greeter", `"ann"`, "--metadata", "to=ann")
	p.until("run ")
	outputOf(t, dir, "signal", "last", "word", `"friend"`)
	p.until(`"Hello ann \"friend\""`)
	p.wantEnd(0, "step spell (h) · completed")
	launch(t, dir, "show", "last").wantEnd(0, "step spell (h) · completed\nstep spell (i) · completed\n")
	launch(t, dir, "tail", "last").wantEnd(0, "step spell (i) · completed")
	launch(t, dir, "start", "greeter", `{"no": "name"}`).wantEnd(2, "input")

	id := outputOf(t, dir, "start", "greeter", `"bob"`, "--detach", "--idempotency-key", "bob")
	if again := outputOf(t, dir, "start", "greeter", `"bob"`, "--detach", "--idempotency-key", "bob"); again != id {
		t.Errorf("the same start gives %s and %s", id, again)
	}
	launch(t, dir, "start", "greeter", `"eve"`, "--detach", "--idempotency-key", "bob").wantEnd(1, "another body")
	var x perdure.Execution
	if err := json.Unmarshal([]byte(outputOf(t, dir, "start", "greeter", `"bob"`, "--detach", "--json", "--local")), &x); err != nil || x.Kind != "greeter" || x.PersistenceMode != perdure.Local {
		t.Errorf("--json: %+v, %v", x, err)
	}
	launch(t, dir, "start", "greeter", `"bob"`, "--approve", "some").wantEnd(2, "--approve some is not known")
	launch(t, dir, "start", "greeter", `"bob"`, "--approve", `[{"tools": 1}]`).wantEnd(2, "give a list of rules")
	launch(t, dir, "start", "greeter", `"bob"`, "--approve", `[{"tools": ["x"], "then": "maybe"}]`).wantEnd(2, "must be allow, ask or deny")
	launch(t, dir, "start", "greeter", `"bob"`, "--approve", "ask", "--local", "--detach").wantEnd(0)
	launch(t, dir, "start", "greeter", `"bob"`, "--approve", "ask", "--detach").wantEnd(0)
	if completed := outputOf(t, dir, "__complete", "start", ""); !strings.Contains(completed, "greeter") {
		t.Errorf("the kinds that are offered: %s", completed)
	}
}

// startEarly runs perdure start before a worker has registered the kind. It returns once the command
// has printed that it waits for a worker. The returned function waits until the run is started.
func startEarly(t *testing.T, dir string) (started func()) {
	t.Helper()
	cmd := exec.Command("perdure", "start", "greeter", `"eve"`, "--detach")
	cmd.Dir, cmd.Env = dir, clean(dir)
	errors, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said, err := bufio.NewReader(errors).ReadString('\n')
	if err != nil || !strings.Contains(said, "no worker has registered greeter yet") {
		t.Errorf("it says %q, %v", said, err)
	}
	return func() {
		if err := cmd.Wait(); err != nil {
			t.Errorf("the start: %v", err)
		}
	}
}

// work connects a worker with the agent greeter to the server of the folder dir. The worker runs
// until the test ends.
func work(t *testing.T, dir string, greet func(agent.Context, string) (string, error)) {
	t.Helper()
	serveKinds(t, dir, func(w *worker.Worker) { w.RegisterAgent(agent.DefineFunc("greeter", greet)) })
}

// serveKinds connects a worker to the server of the folder dir. The worker runs until the test
// ends. The function `register` registers the worker's kinds.
func serveKinds(t *testing.T, dir string, register func(*worker.Worker)) {
	t.Helper()
	owner, err := connection.ReadOwner(filepath.Join(dir, "d"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := remote.Dial(t.Context(), remote.Options{Addr: owner.GRPC, Token: tokenOf(t, dir)})
	if err != nil {
		t.Fatal(err)
	}
	w := worker.New(worker.Config{Dispatch: d})
	register(w)
	done := make(chan error, 1)
	go func() { done <- w.Run(t.Context()) }()
	t.Cleanup(func() {
		if err := <-done; err != nil {
			t.Errorf("the worker: %v", err)
		}
		_ = d.Close()
	})
}
