// Command perdure is the whole system in one program: the server, the worker, and the command line
// that starts and follows runs. docs/cli.md describes it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/perdure/perdure/tool"
)

func main() {
	tool.MaybeSandboxChild()
	os.Exit(run(takeArguments()))
}

// run runs the program and returns its exit code. The first Ctrl-C cancels the command's context,
// unless the command handles Ctrl-C itself. A second Ctrl-C kills the process, as is the system's
// default.
func run(args []string) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	done := make(chan struct{})
	defer close(done)
	a := &setup.App{Streams: terminal.Streams{Stdin: os.Stdin, Stdout: terminal.NewScreen(os.Stdout), Stderr: terminal.NewScreen(os.Stderr)}, Version: programVersion(), Interrupts: &setup.Interrupts{}}
	go func() {
		for {
			select {
			case s := <-signals:
				if s == os.Interrupt && a.Interrupts.Handled() {
					continue
				}
				signal.Stop(signals)
				cancel(setup.ErrInterrupted)
				return
			case <-done:
				return
			}
		}
	}()
	root := newRootCommand(a)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	a.Tracing.End()
	if err == nil {
		return setup.ExitOK
	}
	code := a.ExitCode(err)
	if text := a.ErrorText(err, code); text != "" {
		fmt.Fprintln(a.Stderr, text)
	}
	return code
}
