package confine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/sandbox"
)

func TestProgramWithoutSandboxChildIsNotStartedAsOne(t *testing.T) {
	Ready.Store(false)
	defer Ready.Store(true)
	candidates, why := Available(Confinement{})
	for _, c := range candidates {
		if c.Method == sandbox.ByLandlock {
			t.Error("Landlock is offered")
		}
	}
	if !strings.Contains(strings.Join(why, ";"), "MaybeSandboxChild") {
		t.Errorf("why = %v", why)
	}
}

func TestBwrapCoversTheDataDirectoryLast(t *testing.T) {
	l := &launch{Confinement: Confinement{filtered: true, policy: sandbox.Policy{
		Dir: "/ws", Data: []string{"/ws/data", "/again"}, Write: []string{"/ws", "/cache"}, Private: []sandbox.Private{{Path: "/tmp", Source: "/own"}},
	}}}
	got := strings.Join(l.bwrapArgs(), " ")
	want := "--bind /own /tmp --bind /ws /ws --bind /cache /cache --tmpfs /ws/data --remount-ro /ws/data " +
		"--tmpfs /again --remount-ro /again --seccomp 3 --chdir /ws --"
	if !strings.HasSuffix(got, want) || !strings.Contains(got, "--ro-bind / /") || !strings.Contains(got, "--die-with-parent") {
		t.Errorf("got %s", got)
	}
}

func TestWritableDoesNotOpenTheHomeDirectory(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("GOPATH", home)
	t.Setenv("GOCACHE", "off")
	t.Setenv("CARGO_HOME", "/")
	t.Setenv("XDG_CACHE_HOME", "")
	for _, path := range writable("/ws") {
		if sandbox.Within(home, path) && path != "/tmp" && path != os.TempDir() {
			t.Errorf("%s is writable, and the home directory %s with it", path, home)
		}
	}
	if _, err := os.Stat(filepath.Join(home, ".cache")); err != nil {
		t.Errorf("the cache that toolchains need is not made: %v", err)
	}
}
