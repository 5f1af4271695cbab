package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"golang.org/x/sys/unix"
)

// chatScreen is a running program and the emulated terminal that shows its output.
type chatScreen struct {
	*testing.T
	cmd    *exec.Cmd
	master *os.File
	ended  chan struct{}

	mu      sync.Mutex
	vt      *vt.Emulator
	changed chan struct{} // closed at the next change of the screen
}

// onScreen starts perdure in an emulated terminal with the given number of columns and 24 rows.
func onScreen(t *testing.T, dir string, width int, args ...string) *chatScreen {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	side, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer side.Close()
	s := &chatScreen{T: t, cmd: exec.Command("perdure", args...), master: master, vt: vt.NewEmulator(width, 24), ended: make(chan struct{}), changed: make(chan struct{})}
	s.resize(width)
	s.cmd.Dir, s.cmd.Env = dir, append(clean(dir), "TERM=xterm-256color")
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = side, side, side
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go s.draw()
	go func() { _, _ = io.Copy(master, s.vt) }() // the terminal's replies to queries of the program
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		<-s.ended
		_ = master.Close()
		_ = s.vt.Close()
	})
	return s
}

// draw reads what the program writes and draws it in the emulated terminal, until the program ends.
func (s *chatScreen) draw() {
	defer close(s.ended)
	buffer := make([]byte, 4096)
	for {
		n, err := s.master.Read(buffer)
		s.mu.Lock()
		_, _ = s.vt.Write(buffer[:n])
		close(s.changed)
		s.changed = make(chan struct{})
		s.mu.Unlock()
		if err != nil {
			return // no program has the terminal open any more
		}
	}
}

// text returns all rows of the terminal: first those that have scrolled out of the screen, then those on
// it. The returned channel is closed when the rows change.
func (s *chatScreen) text() (string, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for y := range s.vt.ScrollbackLen() {
		var row strings.Builder
		for x := range s.vt.Width() {
			if cell := s.vt.ScrollbackCellAt(x, y); cell != nil {
				row.WriteString(cell.Content)
			}
		}
		b.WriteString(strings.TrimRight(row.String(), " ") + "\n")
	}
	for row := range strings.SplitSeq(s.vt.String(), "\n") {
		b.WriteString(strings.TrimRight(row, " \r") + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n", s.changed
}

// until waits until the function `holds` returns true for the text of the screen, and returns that
// text. The parameter `what` describes the condition in a failure.
func (s *chatScreen) until(what string, holds func(text string) bool) string {
	s.Helper()
	limit := time.After(time.Minute)
	for {
		text, changed := s.text()
		if holds(text) {
			return text
		}
		select {
		case <-changed:
		case <-s.ended:
			if text, _ = s.text(); holds(text) {
				return text
			}
			s.Fatalf("the program has ended without %s:\n%s", what, text)
		case <-limit:
			s.Fatalf("the screen does not show %s:\n%s", what, text)
		}
	}
}

// shows waits until the screen contains the text `want`, and returns the screen's text.
func (s *chatScreen) shows(want string) string {
	s.Helper()
	return s.until(want, func(text string) bool { return strings.Contains(text, want) })
}

// showsWords waits until the screen contains the words, which may be wrapped.
func (s *chatScreen) showsWords(want string) {
	s.Helper()
	s.until(want, func(text string) bool { return strings.Contains(strings.Join(strings.Fields(text), " "), want) })
}

// ready waits until the chat expects a message: its input line is empty, and no turn runs.
func (s *chatScreen) ready() string {
	s.Helper()
	return s.until("an empty input line at the user's turn", func(text string) bool {
		return strings.Contains(text, "\n›\nscripted/s · your turn") || strings.HasPrefix(text, "›\nscripted/s · a new run")
	})
}

const (
	keyEnter = "\r"
	keyEsc   = "\x1b"
	keyCtrlC = "\x03"
	keyCtrlD = "\x04"
	keyCtrlJ = "\n"
	keyUp    = "\x1b[A"
	keyTab   = "\t"
)

// keys sends keys to the program, as if a user had pressed them.
func (s *chatScreen) keys(text string) {
	s.Helper()
	if _, err := io.WriteString(s.master, text); err != nil {
		s.Fatal(err)
	}
}

func (s *chatScreen) enter(line string) {
	s.Helper()
	s.keys(line)
	s.until("the input "+line, func(text string) bool { return strings.Contains(text, "› "+strings.TrimRight(line, " ")) })
	s.keys(keyEnter)
}

func (s *chatScreen) resize(width int) {
	s.Helper()
	if err := unix.IoctlSetWinsize(int(s.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(width)}); err != nil {
		s.Fatal(err)
	}
}

// ends waits until the program ends with the exit code, and returns the text of the screen.
func (s *chatScreen) ends(code int) string {
	s.Helper()
	<-s.ended
	_ = s.cmd.Wait()
	text, _ := s.text()
	if got := s.cmd.ProcessState.ExitCode(); got != code {
		s.Errorf("exit code %d, want %d\n%s", got, code, text)
	}
	return text
}
