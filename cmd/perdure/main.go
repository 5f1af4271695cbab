// Command perdure is the whole system in one program: the server, the worker, and the command line
// that starts and follows runs. docs/cli.md describes it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/perdure/perdure/tool"
)

func main() {
	tool.MaybeSandboxChild()
	os.Exit(run(takeArguments()))
}

// errInterrupted is the cause of the context once the user or the system has requested the command
// to stop.
var errInterrupted = errors.New("interrupted")

// run runs the program and returns its exit code. The first interrupt stops the command in order.
// The second one kills it, as is the system's default.
func run(args []string) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-signals:
			signal.Stop(signals)
			cancel(errInterrupted)
		case <-done:
		}
	}()
	a := &app{stdin: os.Stdin, stdout: newScreen(os.Stdout), stderr: newScreen(os.Stderr)}
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	a.tracing.end()
	if err == nil {
		return exitOK
	}
	code := a.exitCode(err)
	if text := a.errorText(err, code); text != "" {
		fmt.Fprintln(a.stderr, text)
	}
	return code
}
