package serving

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/internal/bench"
	"github.com/spf13/cobra"
)

func newBenchCommand(a *setup.App) *cobra.Command {
	var c bench.Config
	cmd := &cobra.Command{
		Use: "bench [W1 ... W9]", Short: "Measure this machine", GroupID: "serve",
		Long: `Measures steps, resumes, payloads, signals, bytes and streams, with server and
worker as processes of their own, on databases that are made for it and removed
after it: nothing of yours is read or written. Without names it runs all
workloads; docs/performance.md says what they are.

--store takes sqlite, postgres (a server of its own, started from the binaries
of this machine) and postgres://USER@HOST/NAME (whose user may create databases;
one is made beside NAME), or several of them with commas.`,
		Example: `  perdure bench W1 W2
  perdure bench --store sqlite,postgres --worker grpc --json > figures.json
  perdure bench --short`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.Workloads = append(c.Workloads, args...)
			c.Progress, c.StorePlain = a.Stderr, a.StorePlain
			report, err := bench.Run(cmd.Context(), c)
			if report == nil {
				return err
			}
			if a.JSON {
				out := json.NewEncoder(a.Stdout)
				out.SetIndent("", "  ")
				return errors.Join(err, out.Encode(report))
			}
			report.Print(a.Stdout)
			return err
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&c.Workloads, "workload", nil, "workloads to measure, like W1,W2: the same as the arguments")
	f.StringSliceVar(&c.Stores, "store", []string{"sqlite"}, "stores to measure")
	f.StringSliceVar(&c.Workers, "worker", []string{"inprocess", "grpc"}, "where the worker is: inprocess (the server's process), grpc (one of its own)")
	f.StringVar(&c.Folder, "folder", "", "where the databases are (default: the system's temporary folder)")
	f.BoolVar(&c.Memory, "memory", false, "allow a folder in memory (tmpfs), where flushes cost nothing")
	f.BoolVar(&c.Short, "short", false, "measure little, to see that the benchmark works")
	setup.CountFlag(f, &c.Rounds, "rounds", "", 5, 1, setup.Unbounded, "how often what is quick is repeated")
	f.StringVar(&c.Profiles, "profiles", "", "keep profiles of CPU and memory in this folder")
	a.JSONFlag(cmd)
	cmd.AddCommand(newLatencyCommand(a), newScaleCommand(a), newHostileCommand(a), newGrowthCommand(a), &cobra.Command{
		Use: "child", Hidden: true, DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error { return bench.Child(cmd.Context(), args) },
	})
	return cmd
}

func newLatencyCommand(a *setup.App) *cobra.Command {
	var l bench.Latency
	cmd := &cobra.Command{
		Use: "latency", Short: "Measure how long text takes to its readers", Args: cobra.NoArgs,
		Example: "  perdure bench latency",
		RunE:    func(cmd *cobra.Command, _ []string) error { return l.Run(cmd.Context(), a.Stdout) },
	}
	f := cmd.Flags()
	f.IntSliceVar(&l.Streams, "streams", []int{1, 10, 50, 1000}, "how many executions stream at once; each is a run of its own")
	f.StringSliceVar(&l.Workers, "worker", []string{"grpc", "inprocess"}, "where the worker is")
	f.DurationVar(&l.For, "for", 20*time.Second, "how long each run streams")
	f.Float64Var(&l.Rate, "rate", 5, "chunks a second of each stream")
	f.StringVar(&l.Folder, "folder", "", "where the database is (default: the system's temporary folder)")
	return cmd
}

func newScaleCommand(a *setup.App) *cobra.Command {
	var s bench.Scale
	cmd := &cobra.Command{
		Use: "scale", Short: "Measure what many readers cost", Args: cobra.NoArgs,
		Example: "  perdure bench scale",
		RunE:    func(cmd *cobra.Command, _ []string) error { return s.Run(cmd.Context(), a.Stdout) },
	}
	f := cmd.Flags()
	setup.CountFlag(f, &s.Executions, "executions", "", 1000, 1, setup.Unbounded, "executions that stream, each with one reader")
	setup.CountFlag(f, &s.Idle, "idle", "", 9000, 0, setup.Unbounded, "readers of executions on which nothing happens, one of each")
	f.DurationVar(&s.For, "for", 20*time.Second, "how long each run streams")
	f.Float64Var(&s.Rate, "rate", 5, "chunks a second of each stream")
	setup.CountFlag(f, &s.Rounds, "rounds", "", 3, 1, setup.Unbounded, "runs without readers and with them, in turns")
	f.StringVar(&s.Worker, "worker", "grpc", "where the worker is: grpc (a process of its own), inprocess (the server's)")
	f.StringVar(&s.Folder, "folder", "", "where the database is (default: the system's temporary folder)")
	f.StringVar(&s.Profiles, "profiles", "", "keep the profiles in this folder")
	return cmd
}

func newHostileCommand(a *setup.App) *cobra.Command {
	var h bench.Hostile
	cmd := &cobra.Command{
		Use: "hostile", Short: "Measure what one hostile org costs the others", Args: cobra.NoArgs,
		Long: `Measures well-behaved orgs alone, and then beside one that asks for all that its
key allows, at once and without end. The table has the times of the well-behaved
orgs, and how much the hostile one got done.`,
		Example: `  perdure bench hostile --store sqlite,postgres
  perdure bench hostile --attack searches,pages --for 10s`,
		RunE: func(cmd *cobra.Command, _ []string) error { return h.Run(cmd.Context(), a.Stdout) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&h.Stores, "store", []string{"sqlite"}, "stores to measure")
	f.StringVar(&h.Profiles, "profiles", "", "keep a profile of the server's CPU, taken beside the hostile org, in this folder")
	f.StringSliceVar(&h.Attacks, "attack", nil, "what the hostile org does (default: all of it): "+strings.Join(bench.Attacks(), ", "))
	f.IntVar(&h.OrgsCPU, "orgs-cpu", 0, "the server's setting of that name (default: its default); -1 does not limit the orgs")
	setup.CountFlag(f, &h.Orgs, "orgs", "", 8, 1, 100, "how many orgs behave well")
	f.DurationVar(&h.For, "for", 20*time.Second, "how long each of the two runs measures")
	f.StringVar(&h.Folder, "folder", "", "where the databases are (default: the system's temporary folder)")
	return cmd
}

func newGrowthCommand(a *setup.App) *cobra.Command {
	var g bench.Growth
	cmd := &cobra.Command{
		Use: "growth", Short: "Measure what it costs when there is much in the store", Args: cobra.NoArgs,
		Long: `Fills a store with runs that have ended, and measures after each number of them a
start of the server, pages of the list and filters; then single runs of many entries:
their pages, show, snapshot, resume of as many own steps without a checkpoint, and the
first Messages() of a worker that holds nothing. All of it is written by runs of a
worker, so large numbers take their time: 500,000 runs about ten minutes.`,
		Example: `  perdure bench growth --store sqlite,postgres
  perdure bench growth --executions 10000,100000,500000 --entries 10000,50000,100000`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			g.Show, g.Progress = showRun, a.Stderr
			return g.Run(cmd.Context(), a.Stdout)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&g.Stores, "store", []string{"sqlite"}, "stores to measure")
	f.IntSliceVar(&g.Executions, "executions", []int{1000, 10_000}, "how many runs that have ended are in the store, in rising order")
	f.IntSliceVar(&g.Entries, "entries", []int{1000, 10_000}, "how many entries a run has")
	f.IntSliceVar(&g.Steps, "steps", []int{50, 1000, 3000}, "how many own steps of 1 KiB without a checkpoint a run is resumed over")
	setup.CountFlag(f, &g.Rounds, "rounds", "", 20, 1, setup.Unbounded, "how often what is quick is repeated")
	f.StringVar(&g.Folder, "folder", "", "where the databases are (default: the system's temporary folder)")
	f.BoolVar(&g.Memory, "memory", false, "allow a folder in memory (tmpfs), where flushes cost nothing")
	return cmd
}

// showRun runs the command perdure show for a run, in a process of its own.
func showRun(ctx context.Context, server, token, run string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	show := exec.CommandContext(ctx, self, "show", run, "--server", server)
	show.Env = append(os.Environ(), "PERDURE_KEY="+token)
	return show.Run()
}
