package sqlite

import (
	"fmt"
	"io/fs"
	"syscall"
)

// identity returns the inode number and the change time of a file, which differ between the file
// and its copies.
func identity(f fs.FileInfo) string {
	s, ok := f.Sys().(*syscall.Stat_t)
	if !ok {
		return f.ModTime().String()
	}
	return fmt.Sprint(s.Ino, s.Ctim)
}
