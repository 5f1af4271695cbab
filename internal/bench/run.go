package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/perdure/perdure"
)

// Config configures a measurement. The zero value is ready to use.
type Config struct {
	// Workloads are names of workloads; empty means all.
	Workloads []string
	// Stores are sqlite, postgres (a new server, from the binaries of this machine) and URLs that
	// begin with postgres:// (a new database on that server, which the user in the URL must be
	// allowed to create); default sqlite.
	Stores []string
	// Workers says where the worker runs: "inprocess" (in the server's process) or "grpc" (in a
	// process of its own); default both.
	Workers []string
	// Folder is the folder for databases; default: the system's temporary folder.
	Folder string
	// Memory allows a Folder in memory, where flushes cost nothing.
	Memory bool
	// Short makes all workloads so small that they show only whether they work.
	Short bool
	// Rounds is the number of repetitions of fast measurements, after a warm-up; default 5.
	Rounds int
	// Profiles is a folder for profiles of CPU and memory; "" writes none.
	Profiles string
	// StorePlain turns off the optimizations of the stores.
	StorePlain bool
	// Progress receives progress messages; default: none.
	Progress io.Writer
}

const (
	inProcess = "inprocess"
	overGRPC  = "grpc"
)

// Workload describes a workload.
type Workload struct {
	Name, About string
	// Remote reports whether the workload needs a worker in a separate process.
	Remote bool
	run    func(ctx context.Context, b *bench) error
}

// Workloads returns all workloads.
func Workloads() []Workload {
	return []Workload{
		{Name: "W1", About: "one agent, 200 sequential steps of 1 KiB", run: latencyOfSteps},
		{Name: "W2", About: "200 agents × 20 steps of 1 KiB at once", run: throughput},
		{Name: "W3", About: "from a worker's end to the agent's next step on another that holds nothing of it", Remote: true, run: resume},
		{Name: "W4", About: "payloads of 1 to 64 MiB", run: payloads},
		{Name: "W5", About: "signal to agent code", run: signals},
		{Name: "W6", About: "bytes of a turn early and late in a conversation", run: growth},
		{Name: "W7", About: "10,000 executions that wait", run: manyWaiting},
		{Name: "W8", About: "chunk of a model's text to the readers of one stream", run: fanOut},
		{Name: "W9", About: "context and resume of a compacted conversation on a worker that holds nothing of it", Remote: true, run: contextWindow},
	}
}

// bench is the run of one workload on one store. The worker is in the server's process or in a
// process of its own.
type bench struct {
	Config
	workload Workload
	store    string
	worker   string
	stores   *stores
	report   *Report
}

// add adds a line to the report.
func (b *bench) add(what string, f Figures) {
	kind, _, _ := strings.Cut(b.store, ":")
	b.report.Results = append(b.report.Results, Result{Workload: b.workload.Name, Case: what, Store: kind, Worker: b.worker, Figures: f})
}

// pick returns the parameter `short` if Config.Short is set, otherwise the parameter `whole`.
func pick[T any](b *bench, short, whole T) T {
	if b.Short {
		return short
	}
	return whole
}

// Run runs the workloads. Errors: invalid_argument for unknown names. If a workload fails or ctx
// ends, Run returns the error together with the results so far.
func Run(ctx context.Context, c Config) (_ *Report, err error) {
	workloads, err := c.normal()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(c.Folder, "perdure-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	r := &Report{Settings: Settings{Short: c.Short, Rounds: c.Rounds, Folder: folder, StorePlain: c.StorePlain}, Results: []Result{}}
	if r.Machine, err = machine(folder); err != nil {
		return nil, err
	}
	if err := r.Machine.durable(c.Memory); err != nil {
		return nil, err
	}
	all := &stores{folder: folder, plain: c.StorePlain}
	defer func() { err = errors.Join(err, all.close()) }()
	for _, store := range c.Stores {
		if r.Machine.Postgres, err = all.begin(ctx, store, r.Machine.Postgres); err != nil {
			return nil, err
		}
	}
	for _, w := range workloads {
		for _, store := range c.Stores {
			for _, worker := range c.Workers {
				b := &bench{Config: c, workload: w, store: store, worker: worker, stores: all, report: r}
				if w.Remote && worker != overGRPC {
					continue
				}
				fmt.Fprintf(c.Progress, "%s, %s, worker %s\n", w.Name, strings.SplitN(store, ":", 2)[0], worker)
				if err := w.run(ctx, b); err != nil {
					return r, fmt.Errorf("%s on %s, worker %s: %w", w.Name, strings.SplitN(store, ":", 2)[0], worker, err)
				}
			}
		}
	}
	return r, nil
}

// normal fills in defaults and returns the requested workloads.
func (c *Config) normal() (chosen []Workload, err error) {
	if c.Progress == nil {
		c.Progress = io.Discard
	}
	if c.Rounds <= 0 {
		c.Rounds = 5
	}
	if c.Short {
		c.Rounds = 1
	}
	if len(c.Stores) == 0 {
		c.Stores = []string{"sqlite"}
	}
	for _, s := range c.Stores {
		if s != "sqlite" && s != "postgres" && !strings.HasPrefix(s, "postgres://") && !strings.HasPrefix(s, "postgresql://") {
			return nil, perdure.FieldErrorf("store", "there is no store %q; give sqlite, postgres or postgres://URL", s)
		}
	}
	if len(c.Workers) == 0 {
		c.Workers = []string{inProcess, overGRPC}
	}
	for _, w := range c.Workers {
		if w != inProcess && w != overGRPC {
			return nil, perdure.FieldErrorf("worker", "there is no worker %q; give inprocess or grpc", w)
		}
	}
	all := Workloads()
	if len(c.Workloads) == 0 {
		return all, nil
	}
	for _, name := range c.Workloads {
		found := false
		for _, w := range all {
			if strings.EqualFold(w.Name, name) {
				chosen, found = append(chosen, w), true
			}
		}
		if !found {
			return nil, perdure.FieldErrorf("workload", "there is no workload %q; there are W1 to W9", name)
		}
	}
	return chosen, nil
}
