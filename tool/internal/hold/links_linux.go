package hold

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

func linksOf(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink) //nolint:unconvert // its type depends on the architecture
	}
	return 1
}

// names returns the number of names (hard links) that the file has. It returns 1 for a folder.
func (h *File) names() uint64 {
	var st unix.Stat_t
	if unix.Fstat(int(h.file.Fd()), &st) != nil || st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return 1
	}
	return uint64(st.Nlink) //nolint:unconvert // its type depends on the architecture
}

// name returns the path at which the file was opened.
func (h *File) name() string { return h.file.Name() }
