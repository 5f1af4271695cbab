package worker

import (
	"bytes"
	"runtime"
	"strconv"
)

// goroutineID is the number of the calling goroutine. Blocking calls are legal
// in Run's own goroutine only: elsewhere their Goexit would end the wrong one,
// and an errgroup would see nil for a task that never ran. The runtime has no
// other way to tell.
func goroutineID() int64 {
	var buf [64]byte
	line := buf[:runtime.Stack(buf[:], false)]
	line = bytes.TrimPrefix(line, []byte("goroutine "))
	if i := bytes.IndexByte(line, ' '); i > 0 {
		line = line[:i]
	}
	id, _ := strconv.ParseInt(string(line), 10, 64)
	return id
}
