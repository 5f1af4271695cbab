package tool

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/tool/internal/confine"
)

// knocks counts the connections and messages that reach a test's sockets.
type knocks struct{ n atomic.Int32 }

// stream listens on a Unix socket with this name until the end of the test.
func (k *knocks) stream(t *testing.T, name string) {
	t.Helper()
	l, err := net.Listen("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			k.n.Add(1)
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	allowAll(t, name)
}

func (k *knocks) datagram(t *testing.T, name string) {
	t.Helper()
	c, err := net.ListenPacket("unixgram", name)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, _, err := c.ReadFrom(make([]byte, 10)); err != nil {
				return
			}
			k.n.Add(1)
		}
	}()
	t.Cleanup(func() { c.Close(); <-done; os.Remove(name) })
	allowAll(t, name)
}

func allowAll(t *testing.T, name string) {
	t.Helper()
	if strings.HasPrefix(name, "/") {
		if err := os.Chmod(name, 0o777); err != nil {
			t.Fatal(err)
		}
	}
}

// socketNames returns socket names in all possible places: /run, temporary folders, home, the
// workspace, and abstract names.
func socketNames(t *testing.T, workspace string) []string {
	t.Helper()
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	run := os.Getenv(runFolderVar)
	if run == "" {
		run = "/run"
	}
	var names []string
	for _, dir := range []string{run, "/run/user/" + strconv.Itoa(os.Getuid()), "/tmp", "/var/tmp", "/dev/shm", home, workspace, filepath.Join(home, ".cache", "go-build")} {
		if unix.Access(dir, unix.W_OK) == nil {
			names = append(names, filepath.Join(dir, fmt.Sprintf("perdure-test-%d", os.Getpid())))
		}
	}
	if len(names) < 5 {
		t.Fatalf("only %v can be tried", names)
	}
	return append(names, fmt.Sprintf("@perdure-test-%d", os.Getpid()))
}

// tryOutside checks that the attacks succeed outside the sandbox.
func tryOutside(t *testing.T, program string, k *knocks, attacks [][]string) {
	t.Helper()
	for _, a := range attacks {
		if out, err := exec.Command(program, append([]string{attackMark}, a...)...).CombinedOutput(); err != nil {
			t.Errorf("unfenced, %v fails, so it proves nothing: %s", a, out)
		}
	}
	if int(k.n.Load()) > len(attacks) {
		t.Errorf("%d of %d arrived", k.n.Load(), len(attacks))
	}
}

// socketAttacks listens on all sockets of socketNames, and returns the attacks on each of them.
func socketAttacks(t *testing.T, workspace string, k *knocks) (attacks [][]string) {
	t.Helper()
	for _, name := range socketNames(t, workspace) {
		k.stream(t, name)
		k.datagram(t, name+"-d")
		attacks = append(attacks, []string{"stream", name}, []string{"high-bits", name}, []string{"datagram", name + "-d"}, []string{"raw-pair", name + "-d"})
	}
	return attacks
}

// wantNoneReached runs each attack as a command in the workspace, and checks that the attack fails.
func wantNoneReached(t *testing.T, w *Workspace, program string, attacks [][]string) {
	t.Helper()
	for _, a := range attacks {
		r := sh(t, w, program+" "+attackMark+" "+strings.Join(a, " "))
		wantError(t, r, "failed: ")
	}
}

func TestNoCommandReachesASocket(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir, data := layout(t, "data")
	program := attacker(t, dir)
	var outside, inside knocks
	tryOutside(t, program, &outside, socketAttacksBeside(t, dir, &outside))
	attacks := socketAttacks(t, dir, &inside)
	eachFence(t, dir, data, func(t *testing.T, w *Workspace) {
		wantNoneReached(t, w, program, attacks)
		r := sh(t, w, program+" "+attackMark+" stream "+attacks[0][1])
		wantError(t, r, "operation not permitted")
	})
	if n := inside.n.Load(); n != 0 {
		t.Errorf("%d attacks arrived", n)
	}
}

// socketAttacksBeside does what socketAttacks does, for sockets with other names. The sockets are
// removed when the caller's test ends.
func socketAttacksBeside(t *testing.T, workspace string, k *knocks) (attacks [][]string) {
	t.Helper()
	name := filepath.Join(filepath.Dir(workspace), "o")
	k.stream(t, name)
	k.datagram(t, name+"-d")
	k.stream(t, "@"+name)
	return [][]string{{"stream", name}, {"high-bits", name}, {"datagram", name + "-d"}, {"raw-pair", name + "-d"}, {"stream", "@" + name}}
}

// TestOwnSocketsAreAllThatACommandReaches checks that a command with SocketsOwn can connect to its
// own sockets and to no others.
func TestOwnSocketsAreAllThatACommandReaches(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir, data := layout(t, "ws/data")
	program := attacker(t, dir)
	var k knocks
	attacks := socketAttacks(t, dir, &k)
	w := openDir(t, dir, WorkspaceOptions{DataDir: data, Sockets: SocketsOwn})
	if w.Confinement() != "bwrap" {
		t.Fatalf("confined by %s: %s", w.Confinement(), w.ConfinementNote())
	}
	candidates, _ := confine.Available(w.box)
	for _, c := range candidates {
		t.Run(fmt.Sprintf("mounts=%v", c.Mounts), func(t *testing.T) {
			w.box = c
			wantNoneReached(t, w, program, attacks)
			for _, name := range []string{"/tmp/own", "/run/own", dir + fmt.Sprintf("/own-%v", c.Mounts), "@own"} {
				wantOK(t, sh(t, w, program+" "+attackMark+" own "+name), "reached")
			}
			wantError(t, sh(t, w, "cat "+data+"/token"))
			wantOK(t, sh(t, w, "cat sub/a.txt && echo x > made && cat made && rm made"), "hello", "x\n")
			wantError(t, sh(t, w, "exec 3<>/dev/tcp/"+listen(t)))
		})
	}
	if n := k.n.Load(); n != 0 {
		t.Errorf("%d attacks arrived", n)
	}
}

// TestOwnSocketsWithoutAFenceAreRefused checks that with SocketsOwn, bash refuses to run a command
// for which this machine cannot create separate namespaces.
func TestOwnSocketsWithoutAFenceAreRefused(t *testing.T) {
	for name, o := range map[string]WorkspaceOptions{"unconfined": {Unconfined: true}, "no bubblewrap": {}} {
		t.Run(name, func(t *testing.T) {
			bash, err := exec.LookPath("bash")
			if err != nil {
				t.Fatal(err)
			}
			if name == "no bubblewrap" {
				only := t.TempDir()
				if err := os.Symlink(bash, filepath.Join(only, "bash")); err != nil {
					t.Fatal(err)
				}
				t.Setenv("PATH", only)
			}
			o.Sockets = SocketsOwn
			w := openWorkspace(t, o)
			_, err = builtin(t, "bash").Run(t.Context(), callOf(t, w, args{"command": "echo > ran"}))
			if err == nil || !strings.Contains(err.Error(), "need bubblewrap") {
				t.Errorf("err = %v", err)
			}
			if _, err := os.Stat(filepath.Join(w.Dir(), "ran")); !os.IsNotExist(err) {
				t.Error("the command ran")
			}
		})
	}
}

func TestSocketsOptionIsChecked(t *testing.T) {
	if _, err := OpenWorkspace(t.TempDir(), "", WorkspaceOptions{Sockets: "open"}); err == nil || !strings.Contains(err.Error(), "sockets") {
		t.Errorf("err = %v", err)
	}
}

func TestCallsThatTheFilterDenies(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir, data := layout(t, "data")
	program := attacker(t, dir)
	denied := map[string]string{
		"io_uring_setup": fmt.Sprint(unix.SYS_IO_URING_SETUP), "io_uring_enter": fmt.Sprint(unix.SYS_IO_URING_ENTER),
		"io_uring_register": fmt.Sprint(unix.SYS_IO_URING_REGISTER), "add_key": fmt.Sprint(unix.SYS_ADD_KEY),
		"request_key": fmt.Sprint(unix.SYS_REQUEST_KEY), "keyctl": fmt.Sprint(unix.SYS_KEYCTL),
		"pidfd_getfd": fmt.Sprint(unix.SYS_PIDFD_GETFD),
	}
	if runtime.GOARCH == "amd64" {
		denied["x32 socket"] = fmt.Sprint(0x40000000 | unix.SYS_SOCKET)
		denied["x32 getpid"] = fmt.Sprint(0x40000000 | unix.SYS_GETPID)
	}
	for name, nr := range denied {
		command := []string{attackMark, "call", strconv.Itoa(int(unix.EPERM)), nr}
		if out, err := exec.Command(program, command...).CombinedOutput(); err != nil {
			t.Errorf("unfenced, %s is denied, too: %s", name, out)
		}
	}
	eachFence(t, dir, data, func(t *testing.T, w *Workspace) {
		for name, nr := range denied {
			if r := sh(t, w, program+" "+attackMark+" call 1 "+nr); !strings.Contains(r.PlainText(), "failed: operation not permitted") {
				t.Errorf("%s: %s", name, r.PlainText())
			}
		}
		wantOK(t, sh(t, w, program+" "+attackMark+" pairs"), "reached")
	})
}

// i386Program returns a static i386 program that only calls exit(42).
func i386Program() []byte {
	const base = 0x08048000
	code := []byte{0xb8, 1, 0, 0, 0, 0xbb, 42, 0, 0, 0, 0xcd, 0x80}
	var b bytes.Buffer
	b.Write([]byte{0x7f, 'E', 'L', 'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	put := func(values ...any) {
		for _, v := range values {
			_ = binary.Write(&b, binary.LittleEndian, v) // a write to memory never fails
		}
	}
	put(uint16(2), uint16(3), uint32(1), uint32(base+84), uint32(52), uint32(0), uint32(0),
		uint16(52), uint16(32), uint16(1), uint16(0), uint16(0), uint16(0))
	size := uint32(84 + len(code))
	put(uint32(1), uint32(0), uint32(base), uint32(base), size, size, uint32(5), uint32(0x1000))
	b.Write(code)
	return b.Bytes()
}

func TestForeignCallsEndTheCommand(t *testing.T) {
	dir, data := layout(t, "data")
	program := filepath.Join(dir, "i386")
	if err := os.WriteFile(program, i386Program(), 0o755); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	err := exec.Command(program).Run()
	runs := errors.As(err, &exit) && exit.ExitCode() == 42
	if !runs && !errors.Is(err, syscall.ENOEXEC) {
		t.Fatalf("unfenced, it ends with %v", err)
	}
	eachFence(t, dir, data, func(t *testing.T, w *Workspace) {
		r := sh(t, w, program)
		if strings.Contains(r.PlainText(), "[exit code 42]") || runs && !strings.Contains(r.PlainText(), "[ended by signal: bad system call]") &&
			!strings.Contains(r.PlainText(), fmt.Sprintf("[exit code %d]", 128+syscall.SIGSYS)) { // bubblewrap reports the signal as this exit code
			t.Errorf("%s", r.PlainText())
		}
	})
}

// TestInheritedDescriptorsAreClosed checks that a command inherits no open file of this process,
// even if the descriptor is inheritable.
func TestInheritedDescriptorsAreClosed(t *testing.T) {
	dir, data := layout(t, "data")
	f, err := os.Open(filepath.Join(data, "token"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	leak, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD, 200) // the copy has no close-on-exec flag
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leak)
	eachFence(t, dir, data, func(t *testing.T, w *Workspace) {
		if _, err := unix.FcntlInt(uintptr(leak), unix.F_SETFD, 0); err != nil {
			t.Fatal(err)
		}
		wantError(t, sh(t, w, fmt.Sprintf("cat /proc/self/fd/%d", leak)))
		wantOK(t, sh(t, w, "for f in /proc/$$/fd/*; do n=${f##*/}; [ $n -le 2 ] || [ $n -eq 255 ] || { readlink $f && echo open: $n; }; done; true"), "(no output)")
	})
}

func TestCommandsThatTheFilterLeavesAlone(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir, data := layout(t, "data")
	eachFence(t, dir, data, func(t *testing.T, w *Workspace) {
		wantOK(t, sh(t, w, "git init -q repo && cd repo && git config user.email a@example.com && git config user.name a && "+
			"echo x > f && git add f && git commit -qm first && git log --oneline | wc -l; cd .. && rm -rf repo"), "1\n")
		wantOK(t, sh(t, w, "exec 3<>/dev/tcp/"+listen(t)+" && echo connected"), "connected")
	})
}
