package confine

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/perdure/perdure/tool/internal/group"
)

const (
	// termGrace is the time between SIGTERM and SIGKILL when this process ends a command.
	termGrace = 2 * time.Second
	// drainGrace is how long this process still reads output after a command has ended, if a
	// background process has the output open.
	drainGrace = 2 * time.Second
	// exitGrace is how long a process may take to exit after all its output was read.
	exitGrace = 250 * time.Millisecond
	// lastGrace is how long this process still reads output after everything that it can kill is
	// dead, if a process that has left the command's group has the output open.
	lastGrace = 200 * time.Millisecond
)

// Process is one command, in its own session and process group.
type Process struct {
	Argv   []string // Argv[0] is the path of the program
	Dir    string
	Env    []string
	Box    Confinement
	Record func(pgid int) (forget func()) // called with the process group; may be nil
	// Bounded is called before the command starts. The parameter `by` is the name of the mechanism
	// that limits the command's processes and memory. Bounded may be nil.
	Bounded func(by string)
	Stdout  io.WriteCloser
	Stderr  io.WriteCloser // if nil, both streams share one pipe, which keeps their order
}

// Ending describes how a process ended.
type Ending struct {
	Code                int
	Signal              string // "" if the process exited by itself
	TimedOut, Cancelled bool
	Leftovers           int    // number of background processes that were alive at the command's end
	Excess              string // the limit for which the process was killed, or ""
}

// errInGroup is the error of a command that could not be started in its control group.
var errInGroup = errors.New("start in a control group")

// Run runs the process. It returns when the process and its group have ended and the output is
// drained. If the process cannot be started in a control group, it runs without one. Errors: a
// failure to start or to confine the process.
func (p *Process) Run(ctx context.Context, timeout time.Duration) (Ending, error) {
	end, err := p.runOnce(ctx, timeout)
	if errors.Is(err, errInGroup) {
		slog.Warn("a command runs without a control group", "error", err)
		p.Box.Groups = nil
		return p.runOnce(ctx, timeout)
	}
	return end, err
}

func (p *Process) runOnce(ctx context.Context, timeout time.Duration) (Ending, error) {
	l, err := p.Box.launch()
	if err != nil {
		return Ending{}, err
	}
	defer l.end()
	cmd, err := l.command(p.Argv)
	if err != nil {
		return Ending{}, err
	}
	defer l.close()
	cmd.Dir, cmd.Env = p.Dir, l.environ(p.Env)
	out, err := attach(cmd, p.Stdout, p.Stderr)
	if err != nil {
		return Ending{}, err
	}
	defer out.close()
	cmd.ExtraFiles = append(cmd.ExtraFiles, l.shared...)
	if p.Bounded != nil {
		p.Bounded(l.boundBy())
	}
	child, err := start(cmd)
	l.close()
	if err != nil {
		return Ending{}, l.startError(err)
	}
	forget := func() {}
	if p.Record != nil {
		forget = p.Record(child.pid)
	}
	if !l.Child {
		l.Limits.ApplyTo(child.pid)
	}
	out.begin()
	g := l.group(child.pid)
	end := child.watch(ctx, watched{g, l.Limits, timeout}, out)
	if end.Excess == "" {
		end.Excess = g.KilledFor()
	}
	state := child.reap()
	forget()
	if problem := out.status.problem(); problem != "" {
		return Ending{}, errors.New("tool bash: " + problem)
	}
	if !out.status.describe(&end) {
		end.describe(state)
	}
	return end, nil
}

func (e *Ending) describe(state *os.ProcessState) {
	status, ok := state.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		e.Signal = status.Signal().String()
	}
	e.Code = state.ExitCode()
}

// child is a process that was started. After its end it stays a zombie until `release` is closed,
// so that no other process gets its pid or its group id before then.
type child struct {
	pid     int
	exited  chan struct{}
	release chan struct{}
	state   chan *os.ProcessState
}

// start starts cmd from a thread that lives as long as the process. The kernel sends the parent-death
// signal when the thread that forked ends, not when the whole parent does.
func start(cmd *exec.Cmd) (*child, error) {
	c := &child{exited: make(chan struct{}), release: make(chan struct{}), state: make(chan *os.ProcessState, 1)}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		c.pid = cmd.Process.Pid
		started <- nil
		group.AwaitExit(cmd)
		close(c.exited)
		<-c.release
		// The error of Wait only repeats the exit code, which the process state already contains.
		_ = cmd.Wait()
		c.state <- cmd.ProcessState
	}()
	return c, <-started
}

// watched contains the process group of a running command, and the limits and the timeout after
// which this process ends the command.
type watched struct {
	g       *group.Group
	limits  group.Limits
	timeout time.Duration
}

// usagePeriod is the interval at which a command's usage is measured.
const usagePeriod = 100 * time.Millisecond

// watch waits until the command ends by itself, or ends it on a timeout, a cancel or an exceeded
// limit. It then drains the output and kills the group's remaining processes.
func (c *child) watch(ctx context.Context, w watched, out *output) (end Ending) {
	end = c.wait(ctx, w, out)
	switch {
	case end.Excess != "":
		w.g.Kill()
	case end.TimedOut || end.Cancelled:
		w.g.Stop(termGrace)
		w.g.Kill()
	default:
		end.Leftovers = c.finish(ctx, w.g, out)
	}
	<-c.exited
	out.drain(lastGrace)
	return end
}

// wait returns when the command has ended by itself, or when the method `watch` must end it.
func (c *child) wait(ctx context.Context, w watched, out *output) (end Ending) {
	timer := time.NewTimer(w.timeout)
	defer timer.Stop()
	tick := time.NewTicker(usagePeriod)
	defer tick.Stop()
	for {
		select {
		case <-c.exited:
			return end
		case <-out.status.ended:
			return end
		case <-timer.C:
			end.TimedOut = true
			return end
		case <-ctx.Done():
			end.Cancelled = true
			return end
		case <-tick.C:
			if end.Excess = w.g.Excess(w.limits); end.Excess != "" {
				return end
			}
		}
	}
}

// finish handles a command that has ended by itself. It waits at most drainGrace for the output of
// background processes, kills them, and returns how many they were.
func (c *child) finish(ctx context.Context, g *group.Group, out *output) int {
	if g.Alive() > 0 {
		timer := time.NewTimer(drainGrace)
		defer timer.Stop()
		select {
		case <-out.done:
			g.Settle(exitGrace)
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	left := g.Alive()
	g.Kill()
	return left
}

func (c *child) reap() *os.ProcessState {
	close(c.release)
	return <-c.state
}
