package tool

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// processAttacks are attacks on other processes, on the network and on special files.
var processAttacks = map[string]func(args []string) error{
	"connect":       attackConnect,
	"talk":          attackTalk,
	"family":        func(args []string) error { return attackFamily(families[args[0]]) },
	"ptrace-seize":  func(args []string) error { return attackPtrace(unix.PTRACE_SEIZE, args[0]) },
	"ptrace-attach": func(args []string) error { return attackPtrace(unix.PTRACE_ATTACH, args[0]) },
	"vm-readv":      attackMemory,
	"proc-mem":      func(args []string) error { return attackWriteOpen("/proc/" + args[0] + "/mem") },
	"write":         func(args []string) error { return attackWriteOpen(args[0]) },
	"terminal":      func([]string) error { return closing(newTerminal()) },
	"eat":           attackEat,
	"limit":         attackLimit,
	"raw":           attackRaw,
	"clock":         attackClock,
}

func attackConnect(args []string) error {
	c, err := net.DialTimeout("tcp", "127.0.0.1:"+args[0], 5*time.Second)
	if err != nil {
		return err
	}
	return c.Close()
}

// attackTalk is not an attack: it connects to a listener of its own.
func attackTalk([]string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return err
	}
	return attackConnect([]string{port})
}

func attackFamily(family int) error {
	kind := unix.SOCK_STREAM
	if family == unix.AF_NETLINK || family == unix.AF_PACKET {
		kind = unix.SOCK_RAW
	}
	fd, err := unix.Socket(family, kind, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func attackPtrace(request int, target string) error {
	pid, err := strconv.Atoi(target)
	if err != nil {
		return err
	}
	if _, _, errno := unix.Syscall6(unix.SYS_PTRACE, uintptr(request), uintptr(pid), 0, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// attackMemory reads memory of another process. The address does not matter, because the kernel
// first checks whether the read is permitted.
func attackMemory(args []string) error {
	pid, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	buf := make([]byte, 8)
	local := []unix.Iovec{{Base: &buf[0], Len: 8}}
	remote := []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&buf[0])), Len: 8}}
	_, err = unix.ProcessVMReadv(pid, local, remote, 0)
	if errors.Is(err, unix.EFAULT) {
		return nil
	}
	return err
}

func attackWriteOpen(path string) error {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// attackEat allocates the given number of MiB and waits until it is killed.
func attackEat(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	memory := make([]byte, n<<20)
	for i := 0; i < len(memory); i += 4096 {
		memory[i] = 1
	}
	fmt.Println("eaten")
	for {
		_ = unix.Pause() // keeps the memory; Go would report an empty select as a deadlock
	}
}

// newTerminal returns both ends of a new pseudo-terminal.
func newTerminal() (master, slave int, err error) {
	master, err = unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, -1, err
	}
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return master, -1, err
	}
	n, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	if err != nil {
		return master, -1, err
	}
	slave, err = unix.Open("/dev/pts/"+strconv.Itoa(n), unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	return master, slave, err
}

func closing(master, slave int, err error) error {
	unix.Close(master)
	unix.Close(slave)
	return err
}

// openTerminal returns the path of a terminal that another program of the user has open.
func openTerminal(t *testing.T) string {
	t.Helper()
	master, slave, err := newTerminal()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(master); unix.Close(slave) })
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(slave))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// openPipe creates a named pipe with a reader.
func openPipe(t *testing.T, path string) (closeIt func()) {
	t.Helper()
	if err := unix.Mkfifo(path, 0o666); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return func() { unix.Close(fd) }
}
