package confine

import (
	"fmt"
	"strings"
	"sync"
	"syscall"

	"github.com/perdure/perdure/internal/sandbox"
)

// status collects what a sandbox child (see Confinement.Child) reports about the start and the end
// of its command.
type status struct {
	mu    sync.Mutex
	text  strings.Builder
	ended chan struct{} // closed when the command's end is reported
	told  bool
}

func newStatus() *status { return &status{ended: make(chan struct{})} }

// Write adds bytes of the child's reports. It never returns an error.
func (s *status) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	if _, _, ok := s.end(); ok && !s.told {
		s.told = true
		close(s.ended)
	}
	return len(p), nil
}

// Close does nothing. A closed pipe does not mean that the command has ended: only a report says
// that, and the report may be missing.
func (s *status) Close() error { return nil }

func (s *status) end() (code, signal int, ok bool) {
	text := s.text.String()
	if !strings.HasPrefix(text, sandbox.EndMark) || !strings.HasSuffix(text, "\n") {
		return 0, 0, false
	}
	_, err := fmt.Sscanf(text, sandbox.EndMark+"%d %d\n", &code, &signal)
	return code, signal, err == nil
}

// problem returns the reason why the command was not started, or "" if it was started.
func (s *status) problem() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.HasPrefix(s.text.String(), sandbox.EndMark) {
		return ""
	}
	return s.text.String()
}

// describe copies the end of the command to e, as the child has reported it. The result `ok` is
// false if the child has reported no end.
func (s *status) describe(e *Ending) (ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	code, signal, ok := s.end()
	if !ok {
		return false
	}
	e.Code = code
	if signal != 0 {
		e.Code, e.Signal = -1, syscall.Signal(signal).String()
	}
	return true
}
