package sandbox

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// runFirst starts the command as a child of this process, which stays the first process of a PID
// namespace. It returns only if the command cannot be started. The first process receives only
// signals for which it has a handler. When it ends, the kernel kills all other processes in the
// namespace.
//
// The command is started from a confined thread, and so inherits the confinement. The command
// cannot inspect this process, because this process is not dumpable and is outside the command's
// Landlock domain.
func (s Spec) runFirst(argv []string) error {
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGPIPE)
	type started struct {
		pid int
		err error
	}
	result := make(chan started)
	go func() {
		// The goroutine ends while it is locked to its thread, and this ends the thread. No thread
		// of this process then stays in the command's Landlock domain.
		runtime.LockOSThread()
		pid, err := s.start(argv)
		result <- started{pid, err}
	}()
	r := <-result
	if r.err != nil {
		return r.err
	}
	leaveStreams()
	end := awaitFirst(r.pid)
	_, _ = unix.Write(ReportFd, []byte(end))
	reapForEver()
	return nil
}

func (s Spec) start(argv []string) (pid int, err error) {
	if err := s.confine(); err != nil {
		return 0, err
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("sandbox: %w", err)
	}
	pid, err = syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	if err != nil {
		return 0, fmt.Errorf("sandbox: exec %s: %w", argv[0], err)
	}
	return pid, nil
}

// leaveStreams closes this process's copies of the command's input and output, so that the output
// ends when the command and its children have closed theirs.
func leaveStreams() {
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	for fd := range 3 {
		_ = unix.Dup3(null, fd, 0)
	}
	unix.Close(null)
}

// awaitFirst reaps processes until the process pid has ended. It returns a description of how that
// process has ended.
func awaitFirst(pid int) string {
	for {
		var status unix.WaitStatus
		got, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return endReport(1, 0)
		case got == pid && status.Signaled():
			return endReport(0, int(status.Signal()))
		case got == pid && status.Exited():
			return endReport(status.ExitStatus(), 0)
		}
	}
}

// reapForEver reaps processes that the command has left in the background. When none is left, it
// exits this process.
func reapForEver() {
	for {
		_, err := unix.Wait4(-1, nil, 0, nil)
		if err == unix.ECHILD {
			os.Exit(0)
		}
	}
}
