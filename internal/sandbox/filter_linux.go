package sandbox

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// abi has the numbers of the system calls that a seccomp filter needs, for one architecture. They
// are literals, because package unix has only the numbers of the architecture for which it is
// compiled.
type abi struct {
	arch               uint32 // AUDIT_ARCH_..., which identifies the interface of a call
	x32                bool   // a second interface has the same arch and marks its calls with a bit
	socket, socketpair uint32
	prlimit            uint32
	denied             []uint32 // system calls that are denied for all arguments
}

// abis are the architectures for which a filter exists, under their names in Go.
var abis = map[string]abi{
	"amd64": {
		arch: unix.AUDIT_ARCH_X86_64, x32: true, socket: 41, socketpair: 53, prlimit: 302,
		denied: append([]uint32{248, 249, 250}, deniedEverywhere...),
	},
	"arm64": {
		arch: unix.AUDIT_ARCH_AARCH64, socket: 198, socketpair: 199, prlimit: 261,
		denied: append([]uint32{217, 218, 219}, deniedEverywhere...),
	},
}

// deniedEverywhere contains the numbers of denied calls that are the same on all architectures:
// io_uring_setup, io_uring_enter, io_uring_register and pidfd_getfd. io_uring creates and connects
// sockets without a system call that a filter can check. pidfd_getfd copies a socket from another
// process. Each abi also denies add_key, request_key and keyctl, because all processes of a user
// share keyrings.
var deniedEverywhere = []uint32{425, 426, 427, 438}

const (
	x32Bit = 0x40000000
	// These are offsets in struct seccomp_data. Only the low half of an argument is read, because
	// the kernel reads these arguments as int.
	offNr, offArch, offArg0, offArg1, offArg2 = 0, 4, 16, 24, 32
	sockTypeMask                              = 0xf // the other bits are SOCK_CLOEXEC and SOCK_NONBLOCK
)

var (
	deny  = bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}
	allow = bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	kill  = bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS}
)

// instructions returns the filter for one architecture. A call through another interface (i386 on
// amd64, 32-bit ARM on arm64) kills the process, because there the numbers mean other calls.
func (a abi) instructions(r FilterRules) []bpf.Instruction {
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: a.arch, SkipTrue: 1},
		kill,
		bpf.LoadAbsolute{Off: offNr, Size: 4},
	}
	if a.x32 {
		program = append(program, bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: x32Bit, SkipTrue: 1}, deny)
	}
	for _, nr := range a.denied {
		program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: nr, SkipTrue: 1}, deny)
	}
	program = append(program, a.otherLimits()...)
	program = append(program, a.families(r)...)
	if !r.Unix {
		program = append(program, a.noUnixSockets()...)
	}
	return append(program, allow)
}

// otherLimits forbids changing another process's limits. The kernel allows it between processes of
// one user, so a command could otherwise limit the files or the CPU time of the worker.
func (a abi) otherLimits() []bpf.Instruction {
	return []bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: a.prlimit, SkipTrue: 8},
		bpf.LoadAbsolute{Off: offArg0, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 5}, // pid 0 is the process itself
		bpf.LoadAbsolute{Off: offArg2, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 2},
		bpf.LoadAbsolute{Off: offArg2 + 4, Size: 4}, // the high half of the pointer
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1},
		deny,
		bpf.LoadAbsolute{Off: offNr, Size: 4},
	}
}

// netFamilies are the socket families that programs need and that a network namespace isolates. Other
// families are denied: AF_VSOCK reaches the host of the machine from every namespace, and AF_PACKET reads
// packets of other programs.
var netFamilies = []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

// families denies sockets of all families except AF_UNIX and netFamilies. With NoNet, it also
// denies netFamilies. The method noUnixSockets has the rules for AF_UNIX.
func (a abi) families(r FilterRules) []bpf.Instruction {
	allowed := []uint32{unix.AF_UNIX}
	if !r.NoNet {
		allowed = append(allowed, netFamilies...)
	}
	return append(onlyFamilies(a.socket, allowed), onlyFamilies(a.socketpair, allowed[:1])...)
}

// onlyFamilies denies the system call with the number nr for every socket family that is not in
// `allowed`.
func onlyFamilies(nr uint32, allowed []uint32) []bpf.Instruction {
	n := len(allowed)
	program := []bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: nr, SkipTrue: uint8(n + 3)},
		bpf.LoadAbsolute{Off: offArg0, Size: 4},
	}
	for i, family := range allowed {
		program = append(program, bpf.JumpIf{Cond: bpf.JumpEqual, Val: family, SkipTrue: uint8(n - i)})
	}
	return append(program, deny, bpf.LoadAbsolute{Off: offNr, Size: 4})
}

// noUnixSockets denies socket(AF_UNIX), and socket pairs of other types than stream and seqpacket.
// An end of a datagram pair could later be connected to another address.
func (a abi) noUnixSockets() []bpf.Instruction {
	return []bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: a.socket, SkipTrue: 4},
		bpf.LoadAbsolute{Off: offArg0, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.AF_UNIX, SkipTrue: 1},
		deny,
		allow,
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: a.socketpair, SkipTrue: 8},
		bpf.LoadAbsolute{Off: offArg0, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.AF_UNIX, SkipTrue: 5},
		bpf.LoadAbsolute{Off: offArg1, Size: 4},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: sockTypeMask},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_STREAM, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_SEQPACKET, SkipTrue: 1},
		deny,
		allow,
	}
}

// HasFilter reports whether a filter exists for this architecture.
func HasFilter() bool {
	_, ok := abis[runtime.GOARCH]
	return ok
}

// FilterProgram returns this architecture's filter in the kernel's format.
func FilterProgram(r FilterRules) ([]unix.SockFilter, error) {
	a, ok := abis[runtime.GOARCH]
	if !ok {
		return nil, fmt.Errorf("no system call filter exists for %s", runtime.GOARCH)
	}
	raw, err := bpf.Assemble(a.instructions(r))
	if err != nil {
		return nil, err
	}
	program := make([]unix.SockFilter, len(raw))
	for i, in := range raw {
		program[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	return program, nil
}

// installFilter applies the filter to the calling thread permanently. The command inherits it.
func installFilter(r FilterRules) error {
	program, err := FilterProgram(r)
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return errno
	}
	return nil
}
