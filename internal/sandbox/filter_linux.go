package sandbox

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// abi is the system call interface of one architecture, as a filter needs it.
// The numbers are written out because package unix has only those of the
// architecture that it is built for.
type abi struct {
	arch               uint32 // AUDIT_ARCH_..., which names the interface of a call
	x32                bool   // a second interface shares arch and marks its calls by a bit
	socket, socketpair uint32
	prlimit            uint32
	denied             []uint32 // whatever their arguments
}

// abis are the architectures that a filter exists for.
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

// deniedEverywhere have the same number on all architectures: io_uring_setup,
// io_uring_enter, io_uring_register and pidfd_getfd. io_uring makes and connects
// sockets without a system call that a filter sees; pidfd_getfd takes a socket
// out of another process. The three numbers before them in abis are add_key,
// request_key and keyctl: keyrings are shared by all processes of a user.
var deniedEverywhere = []uint32{425, 426, 427, 438}

const (
	x32Bit = 0x40000000
	// The layout of struct seccomp_data; of an argument the low half, which is
	// all that the kernel takes of an int.
	offNr, offArch, offArg0, offArg1, offArg2 = 0, 4, 16, 24, 32
	sockTypeMask                              = 0xf // the rest are SOCK_CLOEXEC and SOCK_NONBLOCK
)

var (
	deny  = bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}
	allow = bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	kill  = bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS}
)

// instructions is the filter for one architecture. Calls of another interface
// (i386 on amd64, 32-bit ARM on arm64) kill the process: their numbers mean
// something else, and a program that makes them cannot continue without.
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

// otherLimits denies a process to set the limits of another one, which the kernel
// allows between processes of one user: it could take the worker's files or time.
func (a abi) otherLimits() []bpf.Instruction {
	return []bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: a.prlimit, SkipTrue: 8},
		bpf.LoadAbsolute{Off: offArg0, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 5}, // its own
		bpf.LoadAbsolute{Off: offArg2, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 2},
		bpf.LoadAbsolute{Off: offArg2 + 4, Size: 4}, // the other half of the pointer
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1},
		deny,
		bpf.LoadAbsolute{Off: offNr, Size: 4},
	}
}

// netFamilies are the families of sockets that a network namespace holds, and that
// programs need. Others are denied: AF_VSOCK reaches the machine's host past every
// namespace, and AF_PACKET reads what others of the machine send.
var netFamilies = []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

// families denies sockets of all families but netFamilies, which NoNet denies,
// too, and AF_UNIX, which noUnixSockets is for. A new family is denied with them.
func (a abi) families(r FilterRules) []bpf.Instruction {
	allowed := []uint32{unix.AF_UNIX}
	if !r.NoNet {
		allowed = append(allowed, netFamilies...)
	}
	return append(onlyFamilies(a.socket, allowed), onlyFamilies(a.socketpair, allowed[:1])...)
}

// onlyFamilies denies the call nr for families that are not allowed.
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

// noUnixSockets denies socket(AF_UNIX), and the socketpair whose ends can be
// connected to another address later: a datagram socket, which SOCK_RAW is, too.
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

// FilterProgram is the filter of this architecture as the kernel takes it.
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

// installFilter puts the calling thread, and what it becomes, under the filter
// for good.
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
