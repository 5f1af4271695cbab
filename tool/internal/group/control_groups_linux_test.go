package group

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/sandbox"
)

// imitation returns a folder with the same files as a delegated control group.
func imitation(t *testing.T, pids string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"cgroup.type": "domain\n", "cgroup.controllers": "cpu memory pids\n", "cgroup.subtree_control": "", "cgroup.procs": pids,
		workerName + "/cgroup.procs": "",
	} {
		put(t, filepath.Join(dir, name), content)
	}
	return dir
}

func TestOwnControlGroupIsFound(t *testing.T) {
	unified := sandbox.Mount{Point: "/sys/fs/cgroup", Root: "/", Kind: "cgroup2"}
	for name, c := range map[string]struct {
		membership string
		mounts     []sandbox.Mount
		want       string
	}{
		"a service":            {"0::/system.slice/w.service\n", []sandbox.Mount{{Point: "/", Root: "/", Kind: "ext4"}, unified}, "/sys/fs/cgroup/system.slice/w.service"},
		"a container":          {"0::/\n", []sandbox.Mount{unified}, "/sys/fs/cgroup"},
		"both versions":        {"4:memory:/x\n0::/y\n", []sandbox.Mount{{Point: "/c/memory", Root: "/", Kind: "cgroup"}, {Point: "/c/unified", Root: "/", Kind: "cgroup2"}}, "/c/unified/y"},
		"a part is mounted":    {"0::/a/b/c\n", []sandbox.Mount{{Point: "/m", Root: "/a", Kind: "cgroup2"}}, "/m/b/c"},
		"another is mounted":   {"0::/a/b\n", []sandbox.Mount{{Point: "/m", Root: "/z", Kind: "cgroup2"}}, ""},
		"outside of the space": {"0::/../other\n", []sandbox.Mount{unified}, ""},
		"version 1 alone":      {"4:memory:/x\n", []sandbox.Mount{{Point: "/c/memory", Root: "/", Kind: "cgroup"}}, ""},
		"not mounted":          {"0::/x\n", nil, ""},
	} {
		here, err := findCgroup(c.membership, c.mounts)
		if here.dir != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v, want %q", name, here.dir, err, c.want)
		}
	}
}

func TestControlGroupsNeedDelegation(t *testing.T) {
	for name, c := range map[string]struct{ file, content, want string }{
		"usable":        {"cgroup.type", "domain\n", ""},
		"threaded":      {"cgroup.type", "threaded\n", "threaded"},
		"no controller": {"cgroup.controllers", "cpu pids\n", `no controller "memory"`},
	} {
		dir := imitation(t, "1\n")
		put(t, filepath.Join(dir, c.file), c.content)
		wantReason(t, name, cgroup{dir, "/"}.usable(), c.want)
	}
	dir := imitation(t, "1\n")
	// The parent group belongs to the same user, as in a systemd session.
	wantReason(t, "a session", cgroup{dir, "/session"}.usable(), "Delegate=yes")
	for _, name := range []string{"cgroup.type", "cgroup.procs"} {
		dir := imitation(t, "1\n")
		os.Remove(filepath.Join(dir, name))
		if err := (cgroup{dir, "/"}).usable(); err == nil {
			t.Errorf("usable without %s", name)
		}
	}
}

func wantReason(t *testing.T, name string, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %q", name, err, want)
	}
}

func TestTheWorkerMovesBelowItsControlGroup(t *testing.T) {
	dir := imitation(t, "77\n")
	ours := controlPrefix + "0123456789abcdef"
	others := []string{"perdure-call-me", controlPrefix + "0123456789abcdefg", "else", "x" + ours}
	for _, name := range append(others, ours) {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := (&ControlGroups{Dir: dir}).divide(77); err != nil {
		t.Fatal(err)
	}
	wantFile(t, filepath.Join(dir, workerName, "cgroup.procs"), "77")
	wantFile(t, filepath.Join(dir, "cgroup.subtree_control"), "+memory +pids")
	if _, err := os.Lstat(filepath.Join(dir, ours)); !os.IsNotExist(err) {
		t.Errorf("%s: %v", ours, err)
	}
	for _, name := range others {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("%s is gone: %v", name, err)
		}
	}
}

// TestASharedControlGroupIsNotDivided checks that a control group is left unchanged if it contains
// another process or another worker, or does not contain this process.
func TestASharedControlGroupIsNotDivided(t *testing.T) {
	for name, c := range map[string]struct{ own, leaf, want string }{
		"others":         {"77\n78\n", "", "other processes"},
		"not in it":      {"78\n", "", "other processes"},
		"another worker": {"77\n", "12\n", "another worker"},
	} {
		dir := imitation(t, c.own)
		leaf := filepath.Join(dir, workerName, "cgroup.procs")
		put(t, leaf, c.leaf)
		left := filepath.Join(dir, controlPrefix+"0123456789abcdef")
		put(t, filepath.Join(left, "cgroup.kill"), "")
		wantReason(t, name, (&ControlGroups{Dir: dir}).divide(77), c.want)
		wantFile(t, leaf, c.leaf)
		wantFile(t, filepath.Join(dir, "cgroup.subtree_control"), "")
		wantFile(t, filepath.Join(left, "cgroup.kill"), "")
	}
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func wantFile(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s is %q, %v, want %q", path, got, err, want)
	}
}

// imitatedCommand returns the control group of a command, in a folder with the same files as a real
// one. The map `files` has their contents by name. A file that is not in the map is empty.
func imitatedCommand(t *testing.T, l Limits, files map[string]string) *Control {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"memory.max", "memory.oom.group", "pids.max", "cgroup.procs"} {
		put(t, filepath.Join(dir, name), "")
	}
	for name, content := range files {
		put(t, filepath.Join(dir, name), content)
	}
	return &Control{dir: dir, limits: l}
}

func TestLimitsAreWrittenIntoAControlGroup(t *testing.T) {
	c := imitatedCommand(t, Limits{Processes: 100, Memory: 1 << 30}, map[string]string{"memory.swap.max": "max"})
	if err := c.bound(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"memory.max": strconv.Itoa(1 << 30), "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": "864"} {
		wantFile(t, filepath.Join(c.dir, name), want)
	}
	c = imitatedCommand(t, Limits{Processes: -1, Memory: -1}, nil)
	if err := c.bound(); err != nil {
		t.Fatal(err)
	}
	wantFile(t, filepath.Join(c.dir, "memory.max"), "")
	wantFile(t, filepath.Join(c.dir, "pids.max"), "")
	if err := imitatedCommand(t, Limits{Processes: 8, Memory: 1 << 30}, nil).bound(); err != nil {
		t.Errorf("without swap accounting: %v", err)
	}
}

func TestControlGroupSaysWhichLimit(t *testing.T) {
	l := Limits{Processes: 8, Memory: 256 << 20}
	nine := strings.Repeat("1\n", 9)
	for name, c := range map[string]struct {
		limits Limits
		files  map[string]string
		first  bool
		want   string
	}{
		"nothing":    {l, map[string]string{"cgroup.procs": nine}, true, ""},
		"processes":  {l, map[string]string{"cgroup.procs": nine}, false, "it had 9 processes, and the limit is 8"},
		"memory":     {l, map[string]string{"memory.events": "max 4\noom 1\noom_kill 3\n", "memory.peak": "268435456\n"}, false, "it used 256 MiB of memory, and the limit is 256 MiB"},
		"old kernel": {l, map[string]string{"memory.events": "max 4\noom_kill 1\n"}, false, "it used 256 MiB of memory, and the limit is 256 MiB"},
		"above":      {l, map[string]string{"memory.events": "max 0\noom_kill 1\n", "memory.peak": "104857600\n"}, false, "it used 100 MiB of memory, and the machine or the worker had no more"},
		"threads":    {l, map[string]string{"pids.events": "max 2\n", "pids.current": "128\n", "cgroup.procs": "1\n2\n"}, false, "it had 2 processes with 128 threads, and the limit is 8 processes, with 128 threads"},
		"no limit":   {Limits{Processes: -1, Memory: -1}, map[string]string{"cgroup.procs": nine}, false, ""},
		"reclaimed":  {l, map[string]string{"memory.events": "max 9\noom_kill 0\n"}, false, ""},
	} {
		if got := imitatedCommand(t, c.limits, c.files).excess(c.first); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
