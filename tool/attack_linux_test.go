package tool

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/perdure/perdure/internal/longtest"
)

const (
	// attackMark, as the first argument, makes the test binary run an attack.
	attackMark = "__attack"
	// lastingVar is the environment variable with the path of a folder that is not for temporary
	// files.
	lastingVar = "TOOL_TEST_LASTING"
	// runFolderVar is the environment variable with the path of a folder in /run that the test's
	// user may write.
	runFolderVar = "TOOL_TEST_RUN_FOLDER"
	// ordinary is the id of the user "nobody". If root runs the tests of attacks, they run once
	// more as this user.
	ordinary = 65534
)

// attackIfAsked runs the attack that the program's arguments name, if any. If the attack succeeds,
// it prints "reached" and ends the process with exit code 0.
func attackIfAsked() {
	if len(os.Args) < 3 || os.Args[1] != attackMark {
		return
	}
	if err := attack(os.Args[2], os.Args[3:]); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	fmt.Println("reached")
	os.Exit(0)
}

func attack(how string, args []string) error {
	switch how {
	case "stream":
		return attackStream(unix.AF_UNIX, args[0])
	case "high-bits": // the kernel takes an int, so the high bits do not count
		return attackStream(unix.AF_UNIX|1<<32, args[0])
	case "datagram":
		return attackDatagram(unix.SOCK_DGRAM, args[0])
	case "raw-pair":
		return attackDatagram(unix.SOCK_RAW|unix.SOCK_CLOEXEC, args[0])
	case "pairs":
		return attackPairs()
	case "call":
		return attackCall(args)
	case "own":
		return attackOwn(args[0])
	}
	if fn, known := processAttacks[how]; known {
		return fn(args)
	}
	return fmt.Errorf("unknown attack %q", how)
}

func addressOf(name string) *unix.SockaddrUnix { return &unix.SockaddrUnix{Name: name} }

func attackStream(family uintptr, name string) error {
	fd, _, errno := unix.Syscall(unix.SYS_SOCKET, family, unix.SOCK_STREAM, 0)
	if errno != 0 {
		return fmt.Errorf("socket: %w", errno)
	}
	return unix.Connect(int(fd), addressOf(name))
}

// attackDatagram creates a pair of sockets and connects one end to the socket with this name.
func attackDatagram(kind int, name string) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
	if err != nil {
		return fmt.Errorf("socketpair: %w", err)
	}
	if err := unix.Connect(pair[0], addressOf(name)); err != nil {
		return err
	}
	_, err = unix.Write(pair[0], []byte("x"))
	return err
}

// attackPairs is not an attack: it creates connected pairs of sockets, which ordinary programs use.
func attackPairs() error {
	for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_SEQPACKET | unix.SOCK_CLOEXEC, unix.SOCK_STREAM | unix.SOCK_NONBLOCK} {
		pair, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
		if err != nil {
			return err
		}
		if _, err := unix.Write(pair[0], []byte("x")); err != nil {
			return err
		}
	}
	return nil
}

// attackCall executes the system call with the given arguments. The attack succeeds if the call's
// error differs from the error that the first argument names.
func attackCall(args []string) error {
	var n [8]uintptr
	for i, arg := range args {
		v, err := strconv.ParseUint(arg, 0, 64)
		if err != nil {
			return err
		}
		n[i] = uintptr(v)
	}
	_, _, errno := unix.Syscall6(n[1], n[2], n[3], n[4], n[5], n[6], n[7])
	if errno == syscall.Errno(n[0]) {
		return errno
	}
	return nil
}

// attackOwn listens on a Unix socket with this name and connects to it.
func attackOwn(name string) error {
	server, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	if err := unix.Bind(server, addressOf(name)); err != nil {
		return err
	}
	if err := unix.Listen(server, 1); err != nil {
		return err
	}
	return attackStream(unix.AF_UNIX, name)
}

// attacker copies the test binary to dir, where commands can start it.
func attacker(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "attacker")
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// eachFence runs fn under each confinement of eachConfinement, and once without a confinement,
// where only the system call filter applies.
func eachFence(t *testing.T, dir, data string, fn func(t *testing.T, w *Workspace)) {
	t.Helper()
	eachConfinement(t, dir, data, fn)
	t.Run("none", func(t *testing.T) { fn(t, openDir(t, dir, WorkspaceOptions{DataDir: data, Unconfined: true})) })
}

// TestAttacksOfAnOrdinaryUser runs the tests of attacks as the user nobody if root runs the tests,
// and checks that they also pass then.
func TestAttacksOfAnOrdinaryUser(t *testing.T) {
	longtest.Skip(t, "seconds")
	if os.Geteuid() != 0 {
		return // the tests already run as an ordinary user
	}
	top, err := os.MkdirTemp("/var/lib", "perdure-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	runFolder, err := os.MkdirTemp("/run", "perdure-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(runFolder) })
	home := filepath.Join(top, "home")
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{top, home, runFolder} {
		if err := os.Chown(dir, ordinary, ordinary); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(attacker(t, top), "-test.v", "-test.run", "^(TestNoCommandReachesASocket|TestOwnSocketsAreAllThatACommandReaches|"+
		"TestSecret.*|TestFileToolsKnow.*|TestCommandLines.*|TestNoNetwork.*|TestOwnLoopback.*|TestOtherProcesses.*|TestWhatACommand.*|TestTerminals.*|TestNamedPipes.*|TestHomes.*|TestCaches.*|TestOtherFamilies.*|TestAttributesOutside.*|TestSecretFolders.*|TestFilesThatRunLater.*|TestLimits.*|"+
		"TestCallsThatTheFilterDenies|TestForeignCallsEndTheCommand|TestRenamed.*|TestInherited.*|TestTemporaryFolders.*|TestCommandsThatTheFilterLeavesAlone)$")
	cmd.Dir = top
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), lastingVar + "=" + top, runFolderVar + "=" + runFolder}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("as user %d: %v\n%s", ordinary, err, out)
	}
}
