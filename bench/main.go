// Command bench measures how the text of models reaches those who read it, on
// the way that it really takes: a provider that hands out chunks, the react
// agent's model task, the worker's frames, the engine, a SQLite file written
// with synchronous=FULL, the log's readers, and server-sent events over
// loopback. Server, worker and readers are processes of their own, so that each
// one's memory and CPU time is its own. docs/performance.md says how to read
// what it prints.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
)

const usage = `usage: go run ./bench EXPERIMENT [flags]

  latency   how long a chunk takes from the provider to a reader
  scale     many executions that stream, idle readers, and readers of each

go run ./bench EXPERIMENT -h lists the flags.
`

// roles are what a process can be. Those without an experiment's name are
// children of one.
var roles = map[string]func(ctx context.Context, args []string) error{
	"latency": latency, "scale": scale,
	"server": serverRole, "worker": workerRole, "readers": readersRole,
}

func main() {
	if len(os.Args) < 2 || roles[os.Args[1]] == nil {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := roles[os.Args[1]](ctx, os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, os.Args[1]+":", err)
		os.Exit(1)
	}
}

// flags reads the flags of an experiment.
func flags(name string, args []string, declare func(*flag.FlagSet)) error {
	f := flag.NewFlagSet(name, flag.ExitOnError)
	declare(f)
	return f.Parse(args)
}

// about says what was measured on what.
func about() string {
	b, _ := os.ReadFile("/proc/loadavg")
	load := strings.Join(strings.Fields(string(b))[:3], " ")
	revision := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
		return fmt.Sprintf("%s, revision %.12s, load before: %s", info.GoVersion, revision, load)
	}
	return "load before: " + load
}
