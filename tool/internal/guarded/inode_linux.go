package guarded

import (
	"fmt"
	"io/fs"
	"syscall"
)

// inodeOf returns text with a file's inode number and the inode's change time.
func inodeOf(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.ModTime().String()
	}
	return fmt.Sprintf("%d:%d %d.%d", st.Dev, st.Ino, st.Ctim.Sec, st.Ctim.Nsec)
}
