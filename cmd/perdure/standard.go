package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/anthropic"
	"github.com/perdure/perdure/llm/gemini"
	"github.com/perdure/perdure/llm/openai"
	"github.com/perdure/perdure/llm/openairesponses"
	"github.com/perdure/perdure/llm/scripted"
	"github.com/perdure/perdure/react"
	"github.com/perdure/perdure/tool"
	"github.com/perdure/perdure/worker"
	"github.com/perdure/perdure/worker/local"
	"github.com/perdure/perdure/worker/metrics"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel/trace"
)

// standard is the worker that every command runs. It has the react agent, the providers with keys
// in the environment, and the built-in tools.
type standard struct {
	workspace string // root of the runs' directories
	allow     []string
	scripts   string
	fences    fences
	agents    int
	tasks     int

	// secrets returns the files with secrets that this process was given.
	secrets func() []string

	// The command sets the fields below, not the user. checkBefore delays the start until the
	// worker's store is checked.
	checkBefore bool
	dev         bool // model servers may be on this machine
	queues      []string
	counts      react.Counters
	parked      int
	drain       time.Duration
	logger      *slog.Logger
	// registerer registers the worker's metrics; nil disables them.
	registerer prometheus.Registerer
	tracer     trace.TracerProvider // nil disables spans
	// running is the worker, once it exists.
	running atomic.Pointer[worker.Worker]
	// home is the worker whose store is to be opened; nil means any. id is the worker whose store
	// was opened.
	home *uuid.UUID
	id   uuid.UUID
}

// flags adds the flags of every command with a worker.
func (s *standard) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.workspace, "workspace", "", "folder that the tools work in (default: the current one)")
	f.StringArrayVar(&s.allow, "allow-endpoint", nil, "URL=KEYVAR: let definitions name this model server, called with the key in this variable; may be repeated")
	s.fences.flags(cmd)
	s.secrets = func() []string { return secretFiles(cmd.Flags()) }
	f.StringVar(&s.scripts, "scripts", ".", "folder of the scripts that scripted/NAME plays")
}

// open checks the workspace and makes its path absolute. It creates nothing.
func (s *standard) open() error {
	if err := s.fences.check(); err != nil {
		return err
	}
	dir := s.workspace
	if dir == "" {
		dir = "."
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return usageError{"the workspace " + dir + " cannot be used: " + err.Error(), ""}
	}
	if err := checkFolder(abs); err != nil {
		return err
	}
	s.workspace = abs
	return nil
}

func checkFolder(dir string) error {
	found, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usageError{"the workspace folder " + dir + " does not exist", "make it, or give another one with --workspace"}
	case err != nil:
		return usageError{"the workspace folder " + dir + " cannot be used: " + err.Error(), ""}
	case !found.IsDir():
		return usageError{"the workspace " + dir + " is no folder", "give a folder with --workspace"}
	}
	return nil
}

// secretPaths returns the paths other than data that tools may not access: files with secrets that
// this process was given, and other data directories of this user.
func (s *standard) secretPaths(data string) []string {
	others := otherData(data)
	if s.secrets == nil {
		return others
	}
	return append(s.secrets(), others...)
}

// checkFence returns an error for --confine require if nothing confines bash.
func (s *standard) checkFence(data string) error {
	if s.fences.confine != string(tool.ConfineRequire) {
		return nil
	}
	w, err := tool.OpenWorkspace(s.workspace, "", s.fences.options(data, s.secretPaths(data)))
	if err != nil {
		return usageError{"--confine require: " + plainError(err), "docs/security.md says what confines bash, or give --confine auto"}
	}
	return w.Close()
}

// endpoints returns the model servers that this process may call.
func (s *standard) endpoints() (*llm.Endpoints, error) {
	var pairs []llm.Endpoint
	for _, text := range s.allow {
		pair, err := llm.ParseEndpoint(text)
		if err != nil {
			return nil, usageError{"--allow-endpoint " + perdure.HidePassword(text) + ": " + plainError(err), "write it like https://models.example.com/v1=EXAMPLE_API_KEY"}
		}
		pairs = append(pairs, pair)
	}
	return llm.NewEndpoints(nil, pairs...)
}

// providers returns all providers that a model can name.
func (s *standard) providers() (*llm.Providers, error) {
	endpoints, err := s.endpoints()
	if err != nil {
		return nil, err
	}
	web := llm.NewClient(llm.TransportConfig{AllowHosts: endpoints.Hosts(), AllowLoopback: s.dev})
	return llm.NewProviders(
		anthropic.New(anthropic.Config{Endpoints: endpoints, Client: web}),
		openai.New(openai.Config{Endpoints: endpoints, Client: web}),
		openairesponses.New(openairesponses.Config{Endpoints: endpoints, Client: web}),
		gemini.New(gemini.Config{Endpoints: endpoints, Client: web}),
		scripted.New(scripted.Config{Dir: s.scripts, Journal: os.Getenv("PERDURE_SCRIPTED_JOURNAL")}),
	), nil
}

// warnOfPlainKeys warns about keys of providers that are not hidden in the providers' output,
// because they are ordinary words. The warning does not contain the key.
func (s *standard) warnOfPlainKeys() error {
	endpoints, err := s.endpoints()
	if err != nil {
		return err
	}
	var names []string
	for _, e := range endpoints.Allowed() {
		if key := os.Getenv(e.APIKeyEnv); key != "" && llm.PlainKey(key) && !slices.Contains(names, e.APIKeyEnv) {
			names = append(names, e.APIKeyEnv)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		s.logger.Warn("the key is a plain word or too short, so it is not hidden where a provider repeats it; if it is a secret, use a longer one", "variable", name)
	}
	return nil
}

// worker creates the worker. data is the data directory, which tools must not access. kept is the
// store of the worker's LOCAL runs. scratch holds the temporary directories of runs, and groups
// limit commands.
func (s *standard) worker(d perdure.Dispatch, data string, kept *local.Store, scratch *tool.Scratch, groups *tool.ControlGroups) (*worker.Worker, error) {
	providers, err := s.providers()
	if err != nil {
		return nil, err
	}
	record, err := recordGroups(data, s.logger)
	if err != nil {
		return nil, err
	}
	var counted *metrics.Metrics
	var seesWorker *worker.Observer
	var seesReact *react.Observer
	if s.registerer != nil {
		if counted, err = metrics.New(s.registerer); err != nil {
			return nil, err
		}
		seesWorker, seesReact = counted.Worker(), counted.React()
	}
	if err := s.warnOfPlainKeys(); err != nil {
		return nil, err
	}
	c := react.Config{
		Providers: providers, Tools: tool.Builtin(), Record: record, Counters: &s.counts, Observer: seesReact, Ended: scratch.Drop,
		Workspaces: func(dir string) (*tool.Workspace, error) {
			o := s.fences.options(data, s.secretPaths(data))
			o.Scratch, o.Groups = scratch, groups
			return tool.OpenWorkspace(s.workspace, dir, o)
		},
	}
	w := worker.New(worker.Config{
		Dispatch: d, Local: kept, Queues: s.queues, Agents: s.agents, Tasks: s.tasks, Parked: s.parked, Drain: s.drain,
		Logger: s.logger, Version: programVersion(), Observer: seesWorker, TracerProvider: s.tracer,
	})
	w.RegisterAgent(react.Agent(c))
	for _, t := range react.Tasks(c) {
		w.RegisterTask(t)
	}
	s.running.Store(w)
	if s.registerer != nil {
		return w, counted.Watch(w, &s.counts)
	}
	return w, nil
}

// introduce registers the kinds and their providers at a server that has not yet seen a worker, so
// that it can check requests that name them.
func (s *standard) introduce(ctx context.Context, d perdure.Dispatch) error {
	providers, err := s.providers()
	if err != nil {
		return err
	}
	spec := react.Agent(react.Config{Providers: providers}).Spec
	_, err = d.Register(ctx, perdure.Registration{WorkerID: uuid.New(), Version: programVersion(), Agents: []perdure.KindSpec{spec}})
	return err
}

// wait waits for a worker's end. It ignores the error.
func wait(ended <-chan error) {
	for range ended {
		return
	}
}

// endWith ends the process if the worker's store fails before the worker has ended. Work in
// progress cannot be stored, and would be held until its leases expire. The next start recovers as
// after a crash.
func (s *standard) endWith(kept *local.Store, ended <-chan struct{}) {
	select {
	case <-kept.Failed():
		err := kept.Err()
		s.logger.Error("the worker's store failed; the process ends", "error", err)
		endAtOnce(err)
	case <-ended:
	}
}

// controlGroups returns the control groups that limit commands. It returns nil if the system has
// not delegated its control group to this process; a watcher then limits commands.
func (s *standard) controlGroups() *tool.ControlGroups {
	groups, err := tool.OpenControlGroups()
	if err != nil {
		s.logger.Info("a watcher holds the limits of commands", "no control groups", err)
		return nil
	}
	s.logger.Info("control groups hold the limits of commands")
	return groups
}

// start runs the worker in the background until stop is called, and returns once the server knows
// it. stop may be called more than once.
func (s *standard) start(ctx context.Context, d perdure.Dispatch, data string) (stop func(), err error) {
	kept, err := openContents(data, s.home, s.checkBefore)
	if err != nil {
		return nil, err
	}
	s.id = kept.WorkerID()
	listData(data)
	// After this, renaming a directory above the data directory does not expose it.
	if err := errors.Join(tool.HoldDataDir(data), tool.HoldSecrets(s.secretPaths(data))); err != nil {
		return nil, errors.Join(err, kept.Close())
	}
	if err := s.checkFence(data); err != nil {
		return nil, errors.Join(err, kept.Close())
	}
	scratch, err := tool.OpenScratch()
	if err != nil {
		return nil, errors.Join(err, kept.Close())
	}
	groups := s.controlGroups()
	w, err := s.worker(d, data, kept, scratch, groups)
	if err != nil {
		return nil, errors.Join(err, groups.Close(), scratch.Close(), kept.Close())
	}
	live, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() {
		err := w.Run(live)
		if closed := kept.Close(); closed != nil {
			s.logger.Error("the worker's store did not close well", "error", closed)
		}
		if closed := scratch.Close(); closed != nil {
			s.logger.Warn("temporary folders of runs are left", "error", closed)
		}
		if closed := groups.Close(); closed != nil {
			s.logger.Warn("control groups of commands are left", "error", closed)
		}
		ended <- err
	}()
	go s.endWith(kept, live.Done())
	select {
	case <-w.Registered():
		return sync.OnceFunc(func() {
			cancel()
			wait(ended)
		}), nil
	case err := <-ended:
		cancel()
		return nil, err
	case <-ctx.Done():
		cancel()
		wait(ended)
		return nil, context.Cause(ctx)
	}
}
