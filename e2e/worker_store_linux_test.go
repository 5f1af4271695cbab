package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"golang.org/x/sys/unix"
)

// TestAWorkerEndsWithItsStore checks that a worker whose own store fails ends with the reason and
// exit code 1, and that its next start continues the run. The store fails because the system
// refuses to extend the log file of the store, with an error other than "disk full".
func TestAWorkerEndsWithItsStore(t *testing.T) {
	s, _ := newPrivateDeployment(t)
	id := s.begin(perdure.Local)
	s.idle(id, 1)
	log, err := os.Stat(filepath.Join(s.root, "worker", "worker", "contents.db-wal"))
	if err != nil {
		t.Fatal(err)
	}
	failing := s.worker
	s.worker = nil // prevents an automatic restart
	limit := &unix.Rlimit{Cur: uint64(log.Size()) + 100, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(failing.cmd.Process.Pid, unix.RLIMIT_FSIZE, limit, nil); err != nil {
		t.Fatal(err)
	}
	s.sayAs(id, "second", "go on over the "+marked)
	if code := failing.exit(); code != 1 {
		t.Errorf("the worker ends with %d, want 1", code)
	}
	if text := failing.output.String(); !strings.Contains(text, "perdure: the worker's store failed; look at its disk, and start the worker again") {
		t.Errorf("the worker does not say why it ends:\n%s", text)
	}
	s.worker = launch(t, failing.command)
	s.idle(id, 2)
	lines := s.wholeTranscript(id)
	if said := fmt.Sprint(lines); !strings.Contains(said, "All "+marked) {
		t.Errorf("after its next start the run has said %s", said)
	}
}
