package sqlite

import (
	"fmt"
	"io/fs"
	"syscall"
)

// identity returns a text that differs between a file and its copies, whatever attributes they
// share.
func identity(f fs.FileInfo) string {
	s, ok := f.Sys().(*syscall.Stat_t)
	if !ok {
		return f.ModTime().String()
	}
	return fmt.Sprint(s.Ino, s.Ctim)
}
