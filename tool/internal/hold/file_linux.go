package hold

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/perdure/perdure/internal/sandbox"
	"golang.org/x/sys/unix"
)

// File is a folder or file that this process keeps open, so that it is recognised after a rename.
type File struct {
	file *os.File
	id   sandbox.Identity
}

func openFolder(path string) (*File, error) { return openIdentified(path, unix.O_DIRECTORY) }

// openFile opens the file or folder at path.
func openFile(path string) (*File, error) { return openIdentified(path, 0) }

func openIdentified(path string, flags int) (*File, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|flags, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	id, err := sandbox.IdentityOf(fd)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &File{file: os.NewFile(uintptr(fd), path), id: id}, nil
}

func (h *File) close() { h.file.Close() }

// Same reports whether h and `other` are the same file or folder.
func (h *File) Same(other *File) bool { return h.id == other.id }

// Is reports whether f is the same file or folder as h, whatever its name now.
func (h *File) Is(f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && sandbox.Identity{Dev: uint64(st.Dev), Ino: st.Ino} == h.id
}

// Folder reports whether h is a folder.
func (h *File) Folder() bool {
	var st unix.Stat_t
	return unix.Fstat(int(h.file.Fd()), &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// Deleted reports whether the file or folder has been deleted: no name refers to it any more.
func (h *File) Deleted() bool {
	var st unix.Stat_t
	return unix.Fstat(int(h.file.Fd()), &st) != nil || st.Nlink == 0
}

// Path returns the current path of the file or folder.
func (h *File) Path() (string, error) { return sandbox.PathOf(int(h.file.Fd()), h.id) }

// Views returns all current paths of the folder, its own path first. The other paths lead through
// mounts that show the folder, a folder above it, or a folder in it.
func (h *File) Views() ([]string, error) {
	path, err := h.Path()
	if err != nil {
		return nil, err
	}
	others, err := sandbox.OtherViews(path, h.id)
	if err != nil {
		return nil, fmt.Errorf("mounts: %w", err)
	}
	return append([]string{path}, others...), nil
}

// Holds reports whether f lies in the folder h. It compares the folders above f by identity, so renames and
// other mounts of the folder do not matter.
func (h *File) Holds(f *os.File) (bool, error) {
	for range 100 {
		path, err := OpenedPath(f)
		if err != nil {
			return false, err
		}
		if h.above(path) {
			return true, nil
		}
		if again, err := OpenedPath(f); err == nil && again == path {
			return false, nil
		}
	}
	return false, errors.New("its folder keeps moving")
}

func (h *File) above(path string) bool {
	for {
		if at, err := sandbox.IdentityAt(path); err == nil && at == h.id {
			return true
		}
		parent := filepath.Dir(path)
		if parent == path {
			return false
		}
		path = parent
	}
}

// Identity returns the identity of the file or folder, or the zero Identity if h is nil.
func (h *File) Identity() sandbox.Identity {
	if h == nil {
		return sandbox.Identity{}
	}
	return h.id
}

// Duplicate returns another descriptor of the file or folder, for a child process.
func (h *File) Duplicate() (*os.File, error) {
	fd, err := unix.FcntlInt(h.file.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "hidden"), nil
}

// OpenedPath returns the current path of an open file.
func OpenedPath(f *os.File) (path string, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return "", err
	}
	ctlErr := conn.Control(func(fd uintptr) {
		path, err = os.Readlink("/proc/self/fd/" + strconv.Itoa(int(fd)))
	})
	return path, errors.Join(err, ctlErr)
}
