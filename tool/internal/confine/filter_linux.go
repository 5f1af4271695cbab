package confine

import (
	"bytes"
	"encoding/binary"
	"os"

	"github.com/perdure/perdure/internal/sandbox"
	"golang.org/x/sys/unix"
)

// filterFile returns an open file with the system call filter, in the format that bubblewrap reads.
func filterFile(r sandbox.FilterRules) (*os.File, error) {
	program, err := sandbox.FilterProgram(r)
	if err != nil {
		return nil, err
	}
	var raw bytes.Buffer
	if err := binary.Write(&raw, binary.NativeEndian, program); err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate("filter", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "filter")
	if _, err := f.Write(raw.Bytes()); err != nil {
		f.Close()
		return nil, err
	}
	if _, err := f.Seek(0, 0); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
