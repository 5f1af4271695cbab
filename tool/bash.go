package tool

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/sandbox"
	"github.com/perdure/perdure/tool/internal/confine"
	"github.com/perdure/perdure/tool/internal/excerpt"
	"github.com/perdure/perdure/tool/internal/guarded"
	"github.com/perdure/perdure/tool/internal/shell"
)

const (
	bashTimeout    = 120 * time.Second // default timeout of a command
	bashTimeoutMax = 600 * time.Second
	bashOutput     = 30_000 // maximum number of bytes of output in a result
	// bashCommand is the maximum number of bytes of a command. It is below Linux's limit for one argument
	// of a program.
	bashCommand = 120_000
	// changesShown is the maximum number of changed paths that a result lists.
	changesShown = 10
)

type bashArgs struct {
	Command string `json:"command" jsonschema:"minLength=1" jsonschema_description:"Command line for bash -c, run in the workspace folder."`
	Timeout int    `json:"timeout,omitempty" jsonschema:"minimum=0,maximum=600" jsonschema_description:"Seconds after which the command is killed. Default 120, at most 600."`
}

func bash() Tool {
	return New("bash",
		"Run a command with bash in the workspace folder. Answers its output and exit code; long output keeps its head and tail. "+
			"Standard input is empty. Each call is a new shell. When the command ends, whatever it left running in the background is killed: "+
			"start servers and the requests to them in one call.",
		runBash, WithOnLost(perdure.OnLostReport), WithNetwork(),
		// This timeout of the tool is longer than any timeout that a call may set. The difference is
		// enough to kill the command and to read the rest of its output.
		WithTimeout(bashTimeoutMax+30*time.Second))
}

func runBash(ctx context.Context, call *Call, in bashArgs) (Result, error) {
	switch {
	case len(in.Command) > bashCommand:
		return Errorf("The command is too long (%d bytes, at most %d). Write it to a file and run that.", len(in.Command), bashCommand), nil
	case strings.ContainsRune(in.Command, 0):
		return Errorf("The command contains a NUL character."), nil
	case ctx.Err() != nil:
		return Result{}, context.Cause(ctx)
	}
	path, err := shell.Find()
	if err != nil {
		return Result{}, err
	}
	timeout := bashTimeout
	if in.Timeout > 0 {
		timeout = time.Duration(in.Timeout) * time.Second
	}
	w := call.Workspace
	if err := call.Net.Check("net"); err != nil {
		return Result{}, err
	}
	box := w.withNet(call.Net)
	t := excerpt.NewTranscript(bashOutput)
	p := &confine.Process{
		Argv: []string{path, "-c", in.Command}, Dir: w.dir, Env: shell.Environ(w.env), Box: box, Record: call.Record,
		Bounded: func(by string) { announce(call, box, by) },
		Stdout:  t.Stream(call.Stdout),
	}
	before := guarded.Take(w.dir)
	end, err := p.Run(ctx, timeout)
	if err != nil {
		return Result{}, err
	}
	changed := before.Changed(w.dir)
	if len(changed) > 0 {
		call.emit(Event{Type: "tool.guarded_change", Paths: changed})
	}
	return result(ctx, t.String(), changed, end, timeout)
}

// announce emits an event which says how this worker confines the commands of a run, and which
// mechanism enforces their limits: `boundBy`. A run gets one such event for each value of
// `boundBy`.
func announce(call *Call, box confine.Confinement, boundBy string) {
	if !box.Scratch.First(box.Run, boundBy) {
		return
	}
	e := Event{Type: "tool.confined", Fence: string(box.Method), Limits: boundBy, Note: box.Note}
	if box.Method == sandbox.NotConfined {
		e.Type = "tool.unconfined"
	}
	call.emit(e)
}

// result returns what the model reads about a command: the output, how the command ended, and the
// paths in `changed`. These paths are files that the command changed and that programs outside the
// sandbox run or read. If ctx was cancelled, the error is the cause of ctx, so that a cancelled
// call is not taken for a command that ended by itself.
func result(ctx context.Context, out string, changed []string, end confine.Ending, timeout time.Duration) (Result, error) {
	if out == "" {
		out = "(no output)"
	}
	if !strings.HasSuffix(out, "\n") {
		out += "\n"
	}
	if end.Leftovers > 0 {
		out += fmt.Sprintf("[killed what was left in the background: processes: %d]\n", end.Leftovers)
	}
	if len(changed) > 0 {
		out += changesLine(changed)
	}
	switch {
	case end.Excess != "":
		return Errorf("%s[over a limit: %s; the command was killed]", out, end.Excess), nil
	case end.Cancelled:
		return Errorf("%s[cancelled; the command was killed]", out), context.Cause(ctx)
	case end.TimedOut:
		return Errorf("%s[timed out after %d s; the command was killed]", out, int(timeout.Seconds())), nil
	case end.Signal != "":
		return Errorf("%s[ended by signal: %s]", out, end.Signal), nil
	case end.Code != 0:
		return Errorf("%s[exit code %d]", out, end.Code), nil
	}
	return Text(out + "[exit code 0]"), nil
}

// changesLine returns a line that lists the changed paths and warns that programs outside the sandbox
// use these files.
func changesLine(paths []string) string {
	more := ""
	if n := len(paths) - changesShown; n > 0 {
		paths, more = paths[:changesShown], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("[changed: %s%s; programs outside of the sandbox run or obey these files, and the run's events name them]\n", strings.Join(paths, ", "), more)
}
