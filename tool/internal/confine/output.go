package confine

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

// pipeBytes is the maximum capacity in bytes of an unprivileged user's pipe.
const pipeBytes = 1 << 20

// output consists of the pipes to which a process writes, and the goroutines that read them.
type output struct {
	readers []*os.File
	writers []*os.File
	sinks   []io.WriteCloser
	status  *status       // reports of the sandbox child
	done    chan struct{} // closed when all output of the command is read
	heard   chan struct{} // closed when all reports of the child are read
}

// attach connects the outputs of the command to pipes. If stderr is nil, both outputs share one
// pipe. A sandbox child also gets a pipe as descriptor 3 for its reports: why it could not confine
// itself, and, from the first process of a PID namespace, how the command ended. If the child
// becomes the command, this pipe closes without a report.
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

// begin closes this process's copies of the child's ends of the pipes, and starts the readers.
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

// pump copies r to `sink` until r ends, or until the deadline that the method `drain` sets. After
// the deadline it still copies what is in the pipe, so that no output is lost if `sink` is slow.
func pump(sink io.WriteCloser, r *os.File) {
	defer sink.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		_, _ = sink.Write(buf[:n]) // sinks never return an error
		if errors.Is(err, os.ErrDeadlineExceeded) {
			rest(sink, r, buf)
			return
		}
		if err != nil {
			return
		}
	}
}

// rest copies what is in the pipe without waiting for more. It copies about pipeBytes at most, so
// that it returns even if a process never stops writing.
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

// drain waits until the readers have read everything. If a process that has left the command's
// group has a pipe open, drain stops reading after the time `grace`.
func (o *output) drain(grace time.Duration) {
	for _, r := range o.readers {
		// Pipes of os.Pipe support deadlines. For a pipe without that support, the error is
		// ignored, and drain would wait without a limit.
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
