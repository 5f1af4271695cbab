package e2e

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// clockFile is the name of an environment variable. Its value is the path of the file that contains
// the offset of a process's clock.
const clockFile = "CHAOS_CLOCK"

// movedTime is Go code that is added to package time of the program with the adjustable clock.
const movedTime = `package time

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

// offset is that of the clock, in nanoseconds, in memory shared with who sets it.
var offset = sharedOffset()

func sharedOffset() *int64 {
	path, set := syscall.Getenv("` + clockFile + `")
	if !set {
		return new(int64)
	}
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		panic("the file of the clock: " + err.Error())
	}
	memory, err := syscall.Mmap(fd, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic("the file of the clock: " + err.Error())
	}
	return (*int64)(unsafe.Pointer(&memory[0]))
}

func moved(sec int64, nsec int32, mono int64) (int64, int32, int64) {
	by := atomic.LoadInt64(offset)
	sec += by / 1e9
	n := int64(nsec) + by%1e9
	switch {
	case n < 0:
		n, sec = n+1e9, sec-1
	case n >= 1e9:
		n, sec = n-1e9, sec+1
	}
	return sec, int32(n), mono
}
`

// movableProgram builds the real program with a changed standard library. A test can set the wall
// clock of this program, as an administrator or a time server sets a machine's clock. The program's
// monotonic clock, its timers and the project's code are unchanged. The change is necessary because
// Linux has no separate wall clock for a single process, and because Go reads the clock without a
// library that could be preloaded.
func movableProgram(t *testing.T) string {
	t.Helper()
	path, err := buildMovable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var buildMovable = sync.OnceValues(func() (string, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	library := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	source, err := os.ReadFile(filepath.Join(library, "time.go"))
	if err != nil {
		return "", err
	}
	const reads = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	changed := strings.Replace(string(source), reads, "func Now() Time {\n\tsec, nsec, mono := moved(runtimeNow())\n", 1)
	if changed == string(source) {
		return "", errors.New("time.Now of this version of Go reads the clock in another way")
	}
	replace := map[string]string{}
	for name, content := range map[string]string{"time.go": changed, "moved.go": movedTime} {
		file := filepath.Join(scratch, name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(library, name)] = file
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(scratch, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return "", err
	}
	return buildAs("perdure-movable", "-overlay", file)
})

// newClock creates the clock file of a process, with offset 0. It returns the environment variable,
// as NAME=value, that names the file.
func newClock(t *testing.T, path string) string {
	t.Helper()
	if err := os.WriteFile(path, make([]byte, 8), 0o600); err != nil {
		t.Fatal(err)
	}
	return clockFile + "=" + path
}

// setClock sets a process's clock to an offset from the correct time.
func setClock(t *testing.T, path string, by time.Duration) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(by)), 0); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}
