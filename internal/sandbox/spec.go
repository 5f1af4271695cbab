package sandbox

import "fmt"

// Method is a way to confine bash.
type Method string

// Ways to confine.
const (
	ByLandlock  Method = "landlock"
	ByBwrap     Method = "bwrap"
	NotConfined Method = "none"
)

// Mark is the first argument that makes this program a sandbox child.
const Mark = "__tool-sandbox-child"

// Spec tells a sandbox child what to do before it becomes the command.
type Spec struct {
	Parent   int // its parent's pid; another one means that ours is gone
	Method   Method
	Policy   Policy
	Mounts   bool // it has a mount namespace of its own
	Pids     bool // it is the first process of a PID namespace
	HasData  bool // the first of Hidden is the data directory
	Hidden   []Identity
	Filtered bool
	FilterFd int // where bubblewrap finds its filter; 0 if there is none
	Rules    FilterRules
	Loopback bool          // it raises the loopback interface of its own network
	Limits   map[int]int64 // of resources, as setrlimit(2) takes them; negative is none
}

// Policy says what commands may do: read and run everything outside Data, write
// below Write, in their own Private folders and to the usual devices, use the
// network.
type Policy struct {
	Dir     string   // where they run
	Data    []string // all paths of the data directory
	Secrets []string // all paths of files with secrets
	Write   []string // existing, free of symlinks
	// Caches of toolchains are the run's own, over what is there.
	Caches []CacheFolder
	// Fixed are files and folders in Write that cannot be changed.
	Fixed   []string
	Private []Private
	// Kept are shown below Private folders all the same.
	Kept []string
	// Temp is TMPDIR.
	Temp string
	// Own lets commands see no more than they need, so that there is no socket
	// that somebody else has made.
	Own bool
	// Sockets are files in Write that are covered.
	Sockets []string
}

// Private is a folder that commands have as their own at the place of another.
type Private struct{ Path, Source string }

// CacheFolder is a cache of a toolchain as commands have it: a layer of the run's
// own over the user's, or where that cannot be, an empty folder.
type CacheFolder struct {
	Path, Upper, Work, Empty string
	// NoLayer keeps what is there out of sight.
	NoLayer bool
}

// FilterRules say what a filter allows and denies besides what it always does.
type FilterRules struct {
	Unix  bool // Unix sockets are left alone
	NoNet bool // sockets of every other family are denied
}

// Identity names a folder whatever its path is.
type Identity struct{ Dev, Ino uint64 }

func (i Identity) String() string { return fmt.Sprintf("%d:%d", i.Dev, i.Ino) }

// Where the child finds what is shared with it. A sandbox child's report comes
// first, then what it covers.
const (
	ReportFd = 3
	HiddenFd = 4
)
