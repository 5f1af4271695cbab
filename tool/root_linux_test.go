package tool

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/sandbox"
	"golang.org/x/sys/unix"
)

// TestACommandOfRootIsNoRoot checks that a command that root runs cannot read other programs'
// network packets or set the clock. The command has only the capabilities that builds need.
func TestACommandOfRootIsNoRoot(t *testing.T) {
	longtest.Skip(t, "seconds")
	if os.Geteuid() != 0 {
		return // other users have no capabilities
	}
	dir, data := layout(t, "data")
	program := attacker(t, dir)
	var works []string // attacks that succeed without confinement; in a container, fewer may
	for _, how := range []string{"family packet", "raw", "clock"} {
		out, err := exec.Command("bash", "-c", program+" "+attackMark+" "+how).CombinedOutput()
		if err != nil {
			t.Logf("unfenced, %s fails: %s", how, out)
			continue
		}
		works = append(works, how)
	}
	eachConfinement(t, dir, data, func(t *testing.T, w *Workspace) {
		for _, how := range works {
			wantError(t, sh(t, w, program+" "+attackMark+" "+how), "failed: ")
		}
		var mask uint64
		for _, c := range sandbox.KeptCapabilities {
			mask |= 1 << c
		}
		r := sh(t, w, "grep CapEff /proc/self/status")
		var has uint64
		if _, err := fmt.Sscanf(strings.Fields(r.PlainText())[1], "%x", &has); err != nil || has&^mask != 0 {
			t.Errorf("capabilities %x, err %v", has&^mask, err)
		}
		wantOK(t, sh(t, w, "touch f && chown 65534:65534 f && chmod 600 f && cat f && rm f"))
	})
}

// TestOtherFamiliesAreDenied checks that a command, confined or not, cannot create sockets of
// families that bypass its network limit, such as sockets to the host of a virtual machine.
func TestOtherFamiliesAreDenied(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir, data := layout(t, "data")
	program := attacker(t, dir)
	try := func(t *testing.T, w *Workspace) {
		for _, name := range []string{"packet", "vsock"} {
			wantError(t, sh(t, w, program+" "+attackMark+" family "+name), "operation not permitted")
		}
	}
	eachConfinement(t, dir, data, try)
	eachConfinementWith(t, dir, WorkspaceOptions{DataDir: data, Net: NetLoopback}, try)
	t.Run("none", func(t *testing.T) { try(t, openDir(t, dir, WorkspaceOptions{DataDir: data, Unconfined: true})) })
}

// TestLimitsOfOthersAreNotSet checks that a command cannot set the resource limits of a process
// that does not belong to the command. Such limits could end that process.
func TestLimitsOfOthersAreNotSet(t *testing.T) {
	dir, data := layout(t, "data")
	program := attacker(t, dir)
	victim := func() string {
		cmd := exec.Command("sleep", "67")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return fmt.Sprint(cmd.Process.Pid)
	}
	if out, err := exec.Command(program, attackMark, "limit", victim()).CombinedOutput(); err != nil {
		t.Fatalf("unfenced, it fails: %s", out)
	}
	pid := victim()
	try := func(t *testing.T, w *Workspace) {
		wantError(t, sh(t, w, program+" "+attackMark+" limit "+pid), "failed: ")
		wantOK(t, sh(t, w, "ulimit -n 64 && ulimit -n"), "64")
	}
	eachConfinement(t, dir, data, try)
	t.Run("none", func(t *testing.T) { try(t, openDir(t, dir, WorkspaceOptions{DataDir: data, Unconfined: true})) })
}

func attackLimit(args []string) error {
	var pid int
	if _, err := fmt.Sscan(args[0], &pid); err != nil {
		return err
	}
	return unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 16, Max: 16}, nil)
}

// attackRaw creates a raw socket, which receives all TCP packets of the machine.
func attackRaw([]string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_TCP)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// attackClock sets the clock to its current value.
func attackClock([]string) error {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME, &now); err != nil {
		return err
	}
	return unix.ClockSettime(unix.CLOCK_REALTIME, &now)
}
