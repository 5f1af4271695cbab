package e2e

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/store/opentest"
)

// deployment is an installation of the real program: a server and a worker. The worker is a separate
// process or, in dev mode, part of the server's process.
type deployment struct {
	t         *testing.T
	root      string
	workspace string
	url       string
	rpc       string
	env       []string
	server    *process // the server, or dev
	worker    *process // nil in dev mode
	*client.Client
}

// setup configures a deployment. The zero value is a server and a worker with leases of one second.
type setup struct {
	dev   bool
	lease time.Duration
	env   []string // environment variables with the worker's settings for its models
	// server contains environment variables for the server only.
	server []string
	// origin is the web origin whose pages may use the server; "" for none.
	origin string
}

// newDeployment starts the program.
func newDeployment(t *testing.T, with setup) *deployment {
	t.Helper()
	perdure := program(t)
	root := t.TempDir()
	web, rpc := freeAddress(t), freeAddress(t)
	env := environment(filepath.Join(root, "home"), with.env...)
	s := &deployment{t: t, root: root, workspace: filepath.Join(root, "workspace"), url: "http://" + web, rpc: rpc, env: env}
	for _, dir := range []string{s.workspace, filepath.Join(root, "home"), filepath.Join(root, "worker")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	lease := cmp.Or(with.lease, time.Second).String()
	data := filepath.Join(root, "data")
	// This cleanup is registered first and so runs last, when no process has the file open any more.
	t.Cleanup(func() { opentest.File(t, filepath.Join(data, "perdure.db")) })
	if with.dev {
		s.server = launch(t, command{name: "dev", env: env, dir: s.workspace, argv: []string{
			perdure, "dev", "--data", data, "--addr", web, "--grpc-addr", rpc, "--lease", lease, "--workspace", s.workspace,
		}})
	} else {
		s.server = launch(t, command{name: "server", env: append(environment(filepath.Join(root, "home")), with.server...), dir: root, argv: []string{
			perdure, "server", "--data", data, "--addr", web, "--grpc-addr", rpc, "--lease", lease, "--origin", with.origin,
		}})
	}
	s.connect(filepath.Join(data, "token"))
	if !with.dev {
		s.worker = s.employ("worker")
	}
	return s
}

// employ starts a worker with a data directory of the given name.
func (s *deployment) employ(name string) *process {
	s.t.Helper()
	return launch(s.t, command{name: name, env: s.env, dir: s.root, argv: []string{
		program(s.t), "worker", "--server", s.rpc, "--key", s.token(filepath.Join(s.root, "data")),
		"--data", filepath.Join(s.root, name), "--workspace", s.workspace,
	}})
}

func (s *deployment) token(data string) string {
	s.t.Helper()
	raw, err := os.ReadFile(filepath.Join(data, "token"))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(raw))
}

// connect waits until the server answers, and sets the client.
func (s *deployment) connect(tokenFile string) {
	s.t.Helper()
	eventually(s.t, "the server answers", func() bool {
		select {
		case <-s.server.ended:
			s.t.Fatalf("%s ended: %v", s.server.name, s.server.err)
		default:
		}
		raw, err := os.ReadFile(tokenFile)
		if err != nil {
			return false
		}
		c, err := client.New(client.Options{BaseURL: s.url, Key: strings.TrimSpace(string(raw))})
		if err != nil {
			s.t.Fatal(err)
		}
		_, err = c.ListPage(s.t.Context(), client.ExecutionFilter{}, client.PageOptions{Limit: 1})
		s.Client = c
		return err == nil
	})
	s.t.Cleanup(s.Close)
}

// restart kills a process and starts it again.
func (s *deployment) restart(p **process) {
	(*p).kill()
	*p = launch(s.t, (*p).command)
}

// supervise restarts a worker that has ended because there was no server at its start.
func (s *deployment) supervise() {
	s.t.Helper()
	if s.worker == nil {
		return
	}
	select {
	case <-s.worker.ended:
		if !strings.Contains(s.worker.output.String(), "there is no Perdure server") {
			s.t.Fatalf("the worker ended: %v", s.worker.err)
		}
		s.worker = launch(s.t, s.worker.command)
	default:
	}
}

// start starts a run. It waits until a worker has registered the kind.
func (s *deployment) start(r client.StartRequest) uuid.UUID {
	s.t.Helper()
	r.IdempotencyKey = uuid.NewString()
	var x *perdure.Execution
	eventually(s.t, "the run begins", func() bool {
		var err error
		if x, err = s.Start(s.t.Context(), r); err != nil && !notYet(err) {
			s.t.Fatal(err)
		}
		return err == nil
	})
	return x.ID
}

// notYet reports whether an error may be due to a server or a first worker that has not started yet.
func notYet(err error) bool {
	return perdure.IsCode(err, perdure.Unavailable) || strings.Contains(err.Error(), "kind")
}

// until waits until the function `want` returns true for the execution, even across restarts of the
// server.
func (s *deployment) until(id uuid.UUID, what string, want func(*perdure.Execution) bool) *perdure.Execution {
	s.t.Helper()
	var last *perdure.Execution
	eventually(s.t, what, func() bool {
		s.supervise()
		x, err := s.Get(s.t.Context(), id)
		if err != nil {
			if !perdure.IsCode(err, perdure.Unavailable) {
				s.t.Fatal(err)
			}
			return false
		}
		last = x
		if !want(x) && x.Status.Terminal() {
			s.t.Fatalf("%s: the run is %s", what, describe(x))
		}
		return want(x)
	})
	return last
}

func describe(x *perdure.Execution) string {
	text := string(x.Status) + " " + x.WaitReason + " " + string(x.Output)
	if x.Error != nil {
		text += " " + *x.Error
	}
	return text
}

// idle waits until the run has answered the given number of messages and waits for the user.
func (s *deployment) idle(id uuid.UUID, answers int) {
	s.t.Helper()
	s.until(id, "the run waits for the user", func(x *perdure.Execution) bool {
		return x.Status == perdure.StatusWaiting && x.WaitReason == "signal" && s.count(id, perdure.RoleUser) == answers
	})
}

func (s *deployment) ended(id uuid.UUID) *perdure.Execution {
	s.t.Helper()
	return s.until(id, "the run ends", func(x *perdure.Execution) bool { return x.Status.Terminal() })
}

// count returns the number of entries of a role on the run's path, or -1 if the server does not
// answer.
func (s *deployment) count(id uuid.UUID, role perdure.Role) int {
	n := 0
	for e, err := range s.Entries(s.t.Context(), id) {
		if err != nil {
			return -1
		}
		if e.Role == role {
			n++
		}
	}
	return n
}

// say sends a message twice with one id, like a client that does not know whether the first request
// arrived.
func (s *deployment) say(id uuid.UUID, text string) {
	s.t.Helper()
	s.sayAs(id, text, text)
}

// sayAs is like say, but the caller chooses the id of the message. The method say uses the text as
// the id.
func (s *deployment) sayAs(id uuid.UUID, name, text string) {
	s.t.Helper()
	message := client.UserMessage(text)
	message.ID = name
	for range 2 {
		eventually(s.t, "the message is taken", func() bool {
			_, err := s.Signal(s.t.Context(), id, message)
			if err != nil && !perdure.IsCode(err, perdure.Unavailable) {
				s.t.Fatal(err)
			}
			return err == nil
		})
	}
}

// write creates a file in the workspace.
func (s *deployment) write(name, content string) {
	s.t.Helper()
	path := filepath.Join(s.workspace, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// read returns the content of a file of the workspace, or "" if there is no such file.
func (s *deployment) read(name string) string {
	s.t.Helper()
	raw, err := os.ReadFile(filepath.Join(s.workspace, name))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return string(raw)
}

// within returns a context that ends after five minutes. Goroutines that a test waits for use this
// context.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// showIfFailed logs the state of the run and its last events if the test fails.
func (s *deployment) showIfFailed(f *follower, id uuid.UUID) {
	s.t.Cleanup(func() {
		if !s.t.Failed() {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		x, err := s.Get(ctx, id)
		if err != nil {
			s.t.Logf("the run: %v", err)
		} else {
			s.t.Logf("the run is %s", describe(x))
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, e := range f.events[max(0, len(f.events)-20):] {
			s.t.Logf("%s %s", e.Type, e.Data)
		}
	})
}
