package tool

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/perdure/perdure/tool/internal/group"
)

// TestProcessGroupDiesWithItsWorker checks that a tool's process group dies with its worker. The
// leader dies immediately, the other processes when the next worker starts.
func TestProcessGroupDiesWithItsWorker(t *testing.T) {
	dir := t.TempDir()
	worker := exec.Command(os.Args[0])
	worker.Env = append(os.Environ(), workerVar+"="+dir)
	out, err := worker.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var leader, grandchild int
	if _, err := fmt.Sscan(line, &leader, &grandchild); err != nil {
		t.Fatalf("the worker said %q: %v", line, err)
	}
	worker.Process.Kill()
	worker.Wait()
	awaitGone(t, leader)

	if !alive(grandchild) {
		t.Fatal("the grandchild ended by itself, so the record is not put to the test")
	}
	killed, err := KillRecorded(filepath.Join(dir, "groups"))
	if err != nil || killed != 1 {
		t.Errorf("KillRecorded = %d, %v, want 1", killed, err)
	}
	wantGone(t, grandchild)
	wantRecords(t, filepath.Join(dir, "groups"), 0)
}

func TestRecordLastsAsLongAsTheCommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "groups")
	w := plainWorkspace(t)
	call := callOf(t, w, args{"command": "echo running; read -r < go"})
	if err := syscall.Mkfifo(filepath.Join(w.Dir(), "go"), 0o600); err != nil {
		t.Fatal(err)
	}
	call.Record = Recorder(dir)
	call.Stdout = func([]byte) {
		wantRecords(t, dir, 1)
		put(t, filepath.Join(w.Dir(), "go"), "\n")
	}
	wantOK(t, run(t, "bash", call), "running")
	wantRecords(t, dir, 0)
}

func TestKillRecordedSparesARecycledGroup(t *testing.T) {
	dir := t.TempDir()
	other := exec.Command("sleep", "65")
	other.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Wait()
	defer other.Process.Kill()
	pid := other.Process.Pid

	right := group.Mark(pid)
	boot, start, _ := strings.Cut(strings.TrimSpace(right), " ")
	earlier, err := strconv.Atoi(start)
	if err != nil {
		t.Fatal(err)
	}
	for name, marked := range map[string]string{
		"another start": fmt.Sprintf("%s %d\n", boot, earlier-1),
		"another boot":  "00000000-0000-0000-0000-000000000000 " + start + "\n",
		"cut off":       boot,
		"empty":         "",
	} {
		put(t, filepath.Join(dir, strconv.Itoa(pid)), marked)
		killed, err := KillRecorded(dir)
		if killed != 0 || err != nil || !alive(pid) {
			t.Fatalf("%s: KillRecorded = %d, %v; alive: %v", name, killed, err, alive(pid))
		}
		wantRecords(t, dir, 0)
	}
	put(t, filepath.Join(dir, strconv.Itoa(pid)), right)
	if killed, err := KillRecorded(dir); killed != 1 || err != nil || alive(pid) {
		t.Errorf("KillRecorded = %d, %v; alive: %v", killed, err, alive(pid))
	}
}

func TestKillRecordedWithoutRecords(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "1"), group.Mark(1))
	put(t, filepath.Join(dir, "notes.txt"), "not a record")
	for _, d := range []string{dir, filepath.Join(dir, "missing")} {
		if killed, err := KillRecorded(d); killed != 0 || err != nil {
			t.Errorf("KillRecorded = %d, %v", killed, err)
		}
	}
}

func wantRecords(t *testing.T, dir string, n int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != n {
		t.Errorf("%d records (%v), want %d", len(entries), err, n)
	}
}
