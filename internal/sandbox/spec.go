package sandbox

import "fmt"

// Method is a way to confine commands of the tool bash.
type Method string

// These are the ways to confine commands.
const (
	ByLandlock  Method = "landlock"
	ByBwrap     Method = "bwrap"
	NotConfined Method = "none"
)

// Mark is the first argument of a process of this program that is a sandbox child.
const Mark = "__tool-sandbox-child"

// Spec describes how a sandbox child confines itself before it becomes the command.
type Spec struct {
	Parent   int // the parent's pid; if the actual one differs, the parent has ended
	Method   Method
	Policy   Policy
	Mounts   bool // the child has its own mount namespace
	Pids     bool // the child is the first process of a PID namespace
	HasData  bool // whether the first element of Hidden is the data directory
	Hidden   []Identity
	Filtered bool
	FilterFd int // descriptor of bubblewrap's filter; 0 if there is none
	Rules    FilterRules
	Loopback bool          // enable the loopback interface of the child's own network
	Limits   map[int]int64 // resource limits as in setrlimit(2); a negative value means no limit
}

// Policy says what commands may do. They may read and run everything except Data and Secrets, and
// use the network. They may write below Write, in their Private folders, in Caches, and to the usual
// devices.
type Policy struct {
	Dir     string   // the working directory
	Data    []string // all paths of the data directory
	Secrets []string // all paths of files with secrets
	Write   []string // paths that commands may write; they exist and contain no symlinks
	// Caches are the user's toolchain caches. Commands see the caches through overlays. What
	// commands change there belongs to the run, and does not reach the user's caches.
	Caches []CacheFolder
	// Fixed are the files and folders below Write paths that commands must not change.
	Fixed   []string
	Private []Private
	// Kept are the paths below Private folders that stay visible.
	Kept []string
	// Temp is the value of the command's environment variable TMPDIR.
	Temp string
	// Own means that commands see only the files that they need. They see no sockets of other
	// programs.
	Own bool
	// Sockets are the socket files in Dir and below Kept paths. They are set only if Own is true.
	// Bubblewrap mounts /dev/null over each of these files, so that commands cannot use them.
	Sockets []string
}

// Private is a folder that only this command sees: at Path it sees the folder Source.
type Private struct{ Path, Source string }

// CacheFolder is a toolchain cache as commands see it: an overlay over the user's cache, whose changes
// belong to the run, or an empty folder if overlays are not available.
type CacheFolder struct {
	Path, Upper, Work, Empty string
	// NoLayer says that the folder Empty is mounted at Path, without an attempt to mount an overlay.
	NoLayer bool
}

// FilterRules are the optional rules of the system call filter. All other rules always apply.
type FilterRules struct {
	Unix  bool // the command may use Unix sockets
	NoNet bool // the command may create no sockets of other families
}

// Identity identifies a file or folder by its device and inode, which do not change when it is
// moved.
type Identity struct{ Dev, Ino uint64 }

func (i Identity) String() string { return fmt.Sprintf("%d:%d", i.Dev, i.Ino) }

// These are the descriptors that the parent passes to the child: first the report pipe, then the files
// and folders that the child covers.
const (
	ReportFd = 3
	HiddenFd = 4
)
