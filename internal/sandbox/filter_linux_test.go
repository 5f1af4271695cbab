package sandbox

import (
	"encoding/binary"
	"runtime"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// verdict runs a filter for one system call in a BPF virtual machine, which reads words in network
// byte order.
func verdict(t *testing.T, a abi, rules FilterRules, arch, nr uint32, args ...uint64) uint32 {
	t.Helper()
	vm, err := bpf.NewVM(a.instructions(rules))
	if err != nil {
		t.Fatal(err)
	}
	call := make([]byte, 64)
	binary.BigEndian.PutUint32(call[offNr:], nr)
	binary.BigEndian.PutUint32(call[offArch:], arch)
	for i, arg := range args { // the low half of an argument comes first, as on both architectures
		binary.BigEndian.PutUint32(call[offArg0+8*i:], uint32(arg))
		binary.BigEndian.PutUint32(call[offArg0+8*i+4:], uint32(arg>>32))
	}
	n, err := vm.Run(call)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(n)
}

// TestFilterDecides checks which system calls the filter of each architecture allows and denies,
// and that a call through the interface of another architecture kills the process.
func TestFilterDecides(t *testing.T) {
	foreign := map[string]uint32{"amd64": unix.AUDIT_ARCH_I386, "arm64": unix.AUDIT_ARCH_ARM}
	for name, a := range abis {
		t.Run(name, func(t *testing.T) {
			want := func(got, wanted uint32, what string) {
				t.Helper()
				if got != wanted {
					t.Errorf("%s: %#x, want %#x", what, got, wanted)
				}
			}
			on := func(nr uint32, args ...uint64) uint32 { return verdict(t, a, FilterRules{}, a.arch, nr, args...) }
			want(on(a.socket, unix.AF_UNIX, unix.SOCK_STREAM), deny.Val, "socket(AF_UNIX)")
			want(on(a.socket, unix.AF_UNIX|1<<32, unix.SOCK_STREAM), deny.Val, "socket with high bits")
			want(on(a.socket, unix.AF_INET, unix.SOCK_STREAM), allow.Val, "socket(AF_INET)")
			want(on(a.socket, unix.AF_NETLINK, unix.SOCK_RAW), allow.Val, "socket(AF_NETLINK)")
			want(on(a.socketpair, unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC), allow.Val, "socketpair(SOCK_STREAM)")
			want(on(a.socketpair, unix.AF_UNIX, unix.SOCK_SEQPACKET), allow.Val, "socketpair(SOCK_SEQPACKET)")
			want(on(a.socketpair, unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK), deny.Val, "socketpair(SOCK_DGRAM)")
			want(on(a.socketpair, unix.AF_UNIX, unix.SOCK_RAW), deny.Val, "socketpair(SOCK_RAW)")
			want(on(a.socketpair, unix.AF_TIPC, unix.SOCK_DGRAM), deny.Val, "socketpair(AF_TIPC)")
			want(verdict(t, a, FilterRules{Unix: true}, a.arch, a.socketpair, unix.AF_UNIX, unix.SOCK_DGRAM), allow.Val, "own pair")
			for _, family := range []uint64{unix.AF_PACKET, unix.AF_VSOCK, unix.AF_ALG, unix.AF_TIPC, unix.AF_XDP, unix.AF_VSOCK | 1<<32, 200} {
				want(on(a.socket, family, unix.SOCK_STREAM), deny.Val, "socket of another family")
			}
			want(on(a.prlimit, 0, 7, 1), allow.Val, "prlimit of its own")
			want(on(a.prlimit, 7, 7, 0, 1), allow.Val, "prlimit that only looks")
			want(on(a.prlimit, 7, 7, 1), deny.Val, "prlimit of another process")
			want(on(a.prlimit, 7, 7, 1<<32), deny.Val, "prlimit with the high half of a pointer")
			want(on(a.socket+100), allow.Val, "another call")
			none := FilterRules{NoNet: true}
			for _, family := range []uint64{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK, unix.AF_PACKET, unix.AF_VSOCK, unix.AF_UNIX, unix.AF_INET | 1<<32, 200} {
				want(verdict(t, a, none, a.arch, a.socket, family, unix.SOCK_STREAM), deny.Val, "socket without a network")
			}
			want(verdict(t, a, FilterRules{Unix: true, NoNet: true}, a.arch, a.socket, unix.AF_UNIX), allow.Val, "own sockets without a network")
			want(verdict(t, a, none, a.arch, a.socketpair, unix.AF_UNIX, unix.SOCK_STREAM), allow.Val, "socketpair without a network")
			want(verdict(t, a, none, a.arch, a.socketpair, unix.AF_UNIX, unix.SOCK_DGRAM), deny.Val, "datagram pair without a network")
			want(verdict(t, a, none, a.arch, a.socket+100), allow.Val, "another call without a network")
			for _, nr := range a.denied {
				want(on(nr), deny.Val, "a denied call")
				want(verdict(t, a, FilterRules{Unix: true}, a.arch, nr), deny.Val, "a denied call, with sockets")
			}
			want(verdict(t, a, FilterRules{Unix: true}, a.arch, a.socket, unix.AF_UNIX), allow.Val, "socket with sockets")
			want(verdict(t, a, FilterRules{Unix: true}, foreign[name], 1), kill.Val, "a foreign call")
			if a.x32 {
				want(on(x32Bit|a.socket, unix.AF_UNIX), deny.Val, "x32")
			}
		})
	}
}

// TestFilterNumbers checks that the literal system call numbers of this architecture equal the
// numbers in package unix.
func TestFilterNumbers(t *testing.T) {
	a, ok := abis[runtime.GOARCH]
	if !ok {
		return // there is no filter to check
	}
	want := []uint32{
		unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL, unix.SYS_IO_URING_SETUP,
		unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_PIDFD_GETFD,
	}
	if a.socket != unix.SYS_SOCKET || a.socketpair != unix.SYS_SOCKETPAIR || a.prlimit != unix.SYS_PRLIMIT64 || len(a.denied) != len(want) {
		t.Fatalf("%+v", a)
	}
	for i, nr := range want {
		if a.denied[i] != nr {
			t.Errorf("denied[%d] = %d, want %d", i, a.denied[i], nr)
		}
	}
}
