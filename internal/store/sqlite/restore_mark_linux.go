package sqlite

import (
	"fmt"
	"io/fs"
	"syscall"
)

// identity returns a text of the inode number and the change time of a file. A copy of the file has
// another identity.
func identity(f fs.FileInfo) string {
	s, ok := f.Sys().(*syscall.Stat_t)
	if !ok {
		return f.ModTime().String()
	}
	return fmt.Sprint(s.Ino, s.Ctim)
}
