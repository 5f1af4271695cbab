package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestTheTokenIsNotPrintedIntoAFile checks that perdure dev prints the path of the token's file
// instead of the token if its output is not a terminal.
func TestTheTokenIsNotPrintedIntoAFile(t *testing.T) {
	dir := t.TempDir()
	dev := launch(t, dir, "dev", "--addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0")
	dev.until("bash ")
	token := tokenOf(t, dir)
	dev.signal(syscall.SIGTERM)
	dev.wantEnd(0, "sign in     with the token in "+filepath.Join(dir, "d", "token"))
	for what, said := range map[string]string{"standard output": dev.read.String(), "standard error": dev.stderr.String()} {
		if strings.Contains(said, token) {
			t.Errorf("%s holds the token:\n%s", what, said)
		}
	}
}

// TestTheTokenIsPrintedToATerminal checks that perdure dev prints, in a terminal, a URL that signs in.
func TestTheTokenIsPrintedToATerminal(t *testing.T) {
	dir := t.TempDir()
	master, terminal := openTerminal(t)
	cmd := exec.Command("perdure", "dev", "--addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0", "--public-url", "https://dev.example.com/")
	cmd.Dir, cmd.Env, cmd.Stdout = dir, clean(dir), terminal
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	var seen strings.Builder
	for lines := bufio.NewScanner(master); !strings.Contains(seen.String(), "bash "); {
		if !lines.Scan() {
			t.Fatalf("the terminal shows\n%s", seen.String())
		}
		seen.WriteString(lines.Text() + "\n")
	}
	if want := "https://dev.example.com/?token=" + tokenOf(t, dir); !strings.Contains(seen.String(), want) || !strings.Contains(seen.String(), "http://127.0.0.1:") {
		t.Errorf("the terminal shows\n%s", seen.String())
	}
}

// openTerminal returns both ends of a new terminal.
func openTerminal(t *testing.T) (master, terminal *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = master.Close(), terminal.Close() })
	return master, terminal
}
