package sqlite

import (
	"fmt"
	"io/fs"
	"syscall"
)

// identity tells a file from a copy of it, whatever the copy kept of the
// original.
func identity(f fs.FileInfo) string {
	s, ok := f.Sys().(*syscall.Stat_t)
	if !ok {
		return f.ModTime().String()
	}
	return fmt.Sprint(s.Ino, s.Ctim)
}
