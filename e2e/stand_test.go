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

// stand is an installation of the real program: a server, and a worker in a
// process of its own or, with dev, in the same.
type stand struct {
	t         *testing.T
	root      string
	workspace string
	url       string
	rpc       string
	env       []string
	server    *process // or dev
	worker    *process // nil with dev
	*client.Client
}

// setup says how a stand is. The zero value is a server and a worker whose
// leases last a second.
type setup struct {
	dev   bool
	lease time.Duration
	env   []string // with which the worker finds its models
	// server are variables of the server alone.
	server []string
	// origin is one whose pages may use the server; "" for none.
	origin string
}

// newStand starts the program.
func newStand(t *testing.T, with setup) *stand {
	t.Helper()
	perdure := program(t)
	root := t.TempDir()
	web, rpc := freeAddress(t), freeAddress(t)
	env := environment(filepath.Join(root, "home"), with.env...)
	s := &stand{t: t, root: root, workspace: filepath.Join(root, "workspace"), url: "http://" + web, rpc: rpc, env: env}
	for _, dir := range []string{s.workspace, filepath.Join(root, "home"), filepath.Join(root, "worker")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	lease := cmp.Or(with.lease, time.Second).String()
	data := filepath.Join(root, "data")
	// Cleanups run last in, first out: by then no process has it open.
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

// employ starts a worker whose data directory is of that name.
func (s *stand) employ(name string) *process {
	s.t.Helper()
	return launch(s.t, command{name: name, env: s.env, dir: s.root, argv: []string{
		program(s.t), "worker", "--server", s.rpc, "--key", s.token(filepath.Join(s.root, "data")),
		"--data", filepath.Join(s.root, name), "--workspace", s.workspace,
	}})
}

func (s *stand) token(data string) string {
	s.t.Helper()
	raw, err := os.ReadFile(filepath.Join(data, "token"))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(raw))
}

// connect waits until the server answers.
func (s *stand) connect(tokenFile string) {
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

// restart kills a process and starts the same again.
func (s *stand) restart(p **process) {
	(*p).kill()
	*p = launch(s.t, (*p).command)
}

// supervise starts a worker again that has ended because there was no server
// when it began.
func (s *stand) supervise() {
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

// start begins a run; a kind that no worker has registered yet is waited for.
func (s *stand) start(r client.StartRequest) uuid.UUID {
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

// notYet reports whether an error is over when the server, or the first worker,
// is there.
func notYet(err error) bool {
	return perdure.IsCode(err, perdure.Unavailable) || strings.Contains(err.Error(), "kind")
}

// until waits for the execution to be as wanted, through restarts of the
// server.
func (s *stand) until(id uuid.UUID, what string, want func(*perdure.Execution) bool) *perdure.Execution {
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

// idle waits until the run waits for the user for the nth time: it has answered
// so many messages.
func (s *stand) idle(id uuid.UUID, answers int) {
	s.t.Helper()
	s.until(id, "the run waits for the user", func(x *perdure.Execution) bool {
		return x.Status == perdure.StatusWaiting && x.WaitReason == "signal" && s.count(id, perdure.RoleUser) == answers
	})
}

func (s *stand) ended(id uuid.UUID) *perdure.Execution {
	s.t.Helper()
	return s.until(id, "the run ends", func(x *perdure.Execution) bool { return x.Status.Terminal() })
}

// count counts the entries of a role on the path; -1 while there is no answer.
func (s *stand) count(id uuid.UUID, role perdure.Role) int {
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

// say sends a message twice under one id, as a client does that has not heard
// whether the first one arrived.
func (s *stand) say(id uuid.UUID, text string) {
	s.t.Helper()
	s.sayAs(id, text, text)
}

// sayAs is say with another id than the text itself.
func (s *stand) sayAs(id uuid.UUID, name, text string) {
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

// write puts a file into the workspace.
func (s *stand) write(name, content string) {
	s.t.Helper()
	path := filepath.Join(s.workspace, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// read returns a file of the workspace, "" if it is not there.
func (s *stand) read(name string) string {
	s.t.Helper()
	raw, err := os.ReadFile(filepath.Join(s.workspace, name))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return string(raw)
}

// within bounds a wait in a goroutine of its own.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// showIfFailed tells, if the test fails, where the run stands and what came
// last.
func (s *stand) showIfFailed(f *follower, id uuid.UUID) {
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
