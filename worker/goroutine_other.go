//go:build !amd64 && !arm64

package worker

import (
	"bytes"
	"runtime"
	"strconv"
)

// goroutine returns the number of the calling goroutine, which it reads from the text of the stack trace.
func goroutine() uintptr {
	var buf [64]byte
	line := buf[:runtime.Stack(buf[:], false)]
	line = bytes.TrimPrefix(line, []byte("goroutine "))
	if i := bytes.IndexByte(line, ' '); i > 0 {
		line = line[:i]
	}
	id, _ := strconv.ParseUint(string(line), 10, 64)
	return uintptr(id)
}
