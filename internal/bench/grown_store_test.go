package bench

import (
	"compress/gzip"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
)

// TestAGrownStoreIsMeasured runs the benchmark of growing stores with small sizes. It checks that the
// printed table has each expected line once, and that the benchmark leaves no file behind.
func TestAGrownStoreIsMeasured(t *testing.T) {
	longtest.Skip(t, "seconds")
	folder, shown := shortFolder(t), 0
	var out strings.Builder
	err := Growth{
		Stores: []string{"sqlite", "postgres"}, Executions: []int{3, 6}, Entries: []int{1, 260}, Steps: []int{5}, Rounds: 2, Folder: folder, Memory: true,
		Show: func(_ context.Context, server, token, run string) error {
			shown++
			if !strings.HasPrefix(server, "http://") || token == "" || run == "" {
				return errors.New("there is no run to show")
			}
			return nil
		},
	}.Run(t.Context(), &out)
	if err != nil {
		t.Fatal(err)
	}
	for _, store := range []string{"sqlite", "postgres"} {
		for held, figures := range map[string][]string{
			"6 executions":     {"start of a server", "first page", "list by status", "list by metadata", "list by metadata of none", "list by q of none"},
			"260 entries":      {"resume after a checkpoint", "first Messages()", "all entries, by pages of 100", "page of entries, first", "page of entries, middle", "page of entries, last", "snapshot", "show"},
			"5 steps of 1 KiB": {"resume without a checkpoint"},
		} {
			for _, what := range figures {
				if line := "| " + store + " | " + held + " | " + what + " | "; strings.Count(out.String(), line) != 1 {
					t.Errorf("no line %q in\n%s", line, out.String())
				}
			}
		}
	}
	if shown != 4 {
		t.Errorf("%d runs were shown", shown)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("it left %v in its folder (%v)", left, err)
	}
	if err := (Growth{Rounds: 1, Entries: []int{0}}).Run(t.Context(), &out); err == nil {
		t.Error("a run of no entries is measured")
	}
}

// TestAFolderInMemoryIsRefused checks that the benchmark refuses a folder in a file system in memory, where
// flushes cost nothing, unless the user allows it. The report then says that the folder is in memory.
func TestAFolderInMemoryIsRefused(t *testing.T) {
	m := Machine{InMemory: true}
	var out strings.Builder
	m.print(&out)
	if !strings.Contains(out.String(), "the folder is in memory: flushes cost nothing") {
		t.Errorf("it says\n%s", out.String())
	}
	if err := m.durable(false); !perdure.IsCode(err, perdure.InvalidArgument) {
		t.Errorf("without leave it gives %v", err)
	}
	if err := errors.Join(m.durable(true), Machine{}.durable(false)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat("/dev/shm"); err == nil {
		if _, err := Run(t.Context(), Config{Short: true, Folder: "/dev/shm"}); !perdure.IsCode(err, perdure.InvalidArgument) {
			t.Errorf("a run there gives %v", err)
		}
	}
}

// TestBodiesDoNotCompress checks that the benchmark's payloads differ, and that gzip cannot make them
// smaller than about three quarters. Otherwise a store that compresses would seem too cheap.
func TestBodiesDoNotCompress(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 9, 4096} {
		if got := body(n); len(got) != n {
			t.Errorf("a body of %d has %d bytes", n, len(got))
		}
	}
	var packed strings.Builder
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(body(1 << 20))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if packed.Len() < 1<<20*74/100 { // 6 bits per character
		t.Errorf("1 MiB is %d bytes when compressed", packed.Len())
	}
	if one, other := body(64), body(64); one == other {
		t.Error("two bodies are the same")
	}
}
