package tool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// pipeBytes is the most that a pipe holds unless its owner is privileged.
const pipeBytes = 1 << 20

// output is the pipes of a process and their readers.
type output struct {
	readers []*os.File
	writers []*os.File
	sinks   []io.WriteCloser
	status  *status       // what a sandbox child reports
	done    chan struct{} // closed when the command's output is at its end
	heard   chan struct{} // closed when the reports are at theirs
}

// attach connects the command's streams; without stderr both are one pipe. A sandbox child also gets a third
// pipe, descriptor 3, on which it reports why it could not confine itself, and as
// the first process of a PID namespace how the command ended. It closes without a
// word when the command proper takes over.
func attach(cmd *exec.Cmd, stdout, stderr io.WriteCloser) (*output, error) {
	o := &output{status: newStatus(), done: make(chan struct{}), heard: make(chan struct{})}
	o.sinks = []io.WriteCloser{stdout, o.status}
	if stderr != nil {
		o.sinks = append(o.sinks, stderr)
	}
	for range o.sinks {
		r, w, err := os.Pipe()
		if err != nil {
			o.close()
			return nil, fmt.Errorf("tool bash: pipe: %w", err)
		}
		o.readers, o.writers = append(o.readers, r), append(o.writers, w)
	}
	cmd.Stdout, cmd.Stderr = o.writers[0], o.writers[0]
	if stderr != nil {
		cmd.Stderr = o.writers[2]
	}
	if cmd.Path == selfExe {
		cmd.ExtraFiles = []*os.File{o.writers[1]}
	}
	return o, nil
}

// begin closes our ends of what the child writes and starts the readers.
func (o *output) begin() {
	closeAll(o.writers)
	o.writers = nil
	var streams sync.WaitGroup
	for i, r := range o.readers {
		if o.sinks[i] == o.status {
			go func() { pump(o.status, r); close(o.heard) }()
			continue
		}
		streams.Go(func() { pump(o.sinks[i], r) })
	}
	go func() { streams.Wait(); close(o.done) }()
}

// pump copies r to sink until its end, or until the deadline that drain sets.
// Even then what is in the pipe is read first: a slow sink loses nothing.
func pump(sink io.WriteCloser, r *os.File) {
	defer sink.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		_, _ = sink.Write(buf[:n]) // sinks do not fail
		if errors.Is(err, os.ErrDeadlineExceeded) {
			rest(sink, r, buf)
			return
		}
		if err != nil {
			return
		}
	}
}

// rest reads what a pipe holds, without waiting. No pipe holds more than
// pipeBytes, so a writer that continues for ever does not keep us.
func rest(sink io.Writer, r *os.File, buf []byte) {
	conn, err := r.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) {
		for total := 0; total < pipeBytes; {
			n, err := syscall.Read(int(fd), buf)
			if n <= 0 || err != nil {
				return
			}
			_, _ = sink.Write(buf[:n])
			total += n
		}
	})
}

// drain waits for the readers, at most for grace if somebody who escaped still
// holds a pipe open.
func (o *output) drain(grace time.Duration) {
	for _, r := range o.readers {
		// Pipes of os.Pipe take deadlines; if not, only the wait is unbounded.
		_ = r.SetReadDeadline(time.Now().Add(grace))
	}
	<-o.done
	<-o.heard
}

func (o *output) close() {
	closeAll(o.writers)
	closeAll(o.readers)
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}
