// Package builtin is the worker that commands run in their own process, with its flags: the react
// agent, the providers of models, and the built-in tools.
package builtin

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/react"
	"github.com/perdure/perdure/tool"
	"github.com/perdure/perdure/worker"
	"github.com/perdure/perdure/worker/local"
	"github.com/perdure/perdure/worker/metrics"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
)

// Worker is the worker that commands run in their own process. It has the react agent, all model
// providers of this program, and the built-in tools.
type Worker struct {
	// Flags of the commands set these fields.
	Workspace string // root of the runs' directories
	Bash      bashLimits
	Agents    int // maximum number of runs that work at the same time
	Tasks     int // maximum number of model calls and tools that work at the same time
	Drain     time.Duration
	allow     []string
	scripts   string
	// modelTable is the path of the file with prices and limits of models, from --model-table.
	modelTable string

	// The code of the command sets these fields.
	Version string // version of this program
	Queues  []string
	Parked  int // negative: no agent is parked
	Logger  *slog.Logger
	// Dev permits calls of model servers on this machine.
	Dev bool
	// CheckBefore delays the start until the worker's store is checked.
	CheckBefore bool
	// Registerer registers the worker's metrics; nil disables them.
	Registerer prometheus.Registerer
	// Tracer creates the worker's spans; nil disables them.
	Tracer trace.TracerProvider
	// Home is the id of the worker whose content store is to be opened; nil means the first content
	// store that no other worker uses.
	Home *uuid.UUID

	// ID is the id of the worker whose content store was opened.
	ID uuid.UUID
	// Running is the worker, once it exists.
	Running atomic.Pointer[worker.Worker]
	counts  react.Counters
	// secrets returns the files with secrets that this process was given.
	secrets func() []string
}

// newWorker creates the worker. `data` is the data directory, which tools must not access. `kept`
// is the store of the worker's LOCAL runs, and `scratch` holds the temporary directories of runs.
// `groups` are the control groups that limit the commands of tools; nil means that a watcher in
// this process limits them.
func (w *Worker) newWorker(d perdure.Dispatch, data string, kept *local.Store, scratch *tool.Scratch, groups *tool.ControlGroups) (*worker.Worker, error) {
	providers, err := w.providers()
	if err != nil {
		return nil, err
	}
	record, err := recordProcessGroups(data, w.Logger)
	if err != nil {
		return nil, err
	}
	var counted *metrics.Metrics
	var seesWorker *worker.Observer
	var seesReact *react.Observer
	if w.Registerer != nil {
		if counted, err = metrics.New(w.Registerer); err != nil {
			return nil, err
		}
		seesWorker, seesReact = counted.Worker(), counted.React()
	}
	if err := w.warnOfPlainKeys(); err != nil {
		return nil, err
	}
	c := react.Config{
		Providers: providers, Tools: tool.Builtin(), Record: record, Counters: &w.counts, Observer: seesReact, Ended: scratch.Drop, Logger: w.Logger,
		Workspaces: func(dir string) (*tool.Workspace, error) {
			o := w.Bash.options(data, w.secretPaths(data))
			o.Scratch, o.Groups = scratch, groups
			return tool.OpenWorkspace(w.Workspace, dir, o)
		},
	}
	running := worker.New(worker.Config{
		Dispatch: d, Local: kept, Queues: w.Queues, Agents: w.Agents, Tasks: w.Tasks, Parked: w.Parked, Drain: w.Drain,
		Logger: w.Logger, Version: w.Version, Observer: seesWorker, TracerProvider: w.Tracer,
	})
	running.RegisterAgent(react.Agent(c))
	for _, t := range react.Tasks(c) {
		running.RegisterTask(t)
	}
	w.Running.Store(running)
	if w.Registerer != nil {
		return running, counted.Watch(running, &w.counts)
	}
	return running, nil
}

// RegisterKinds registers the kinds and their providers before any worker has connected, so that the
// server can check requests that name them. The registration has no worker's id, so it does not appear
// in lists of workers.
func (w *Worker) RegisterKinds(ctx context.Context, d perdure.Dispatch) error {
	providers, err := w.providers()
	if err != nil {
		return err
	}
	spec := react.Agent(react.Config{Providers: providers}).Spec
	_, err = d.Register(ctx, perdure.Registration{Version: w.Version, Agents: []perdure.KindSpec{spec}})
	return err
}
