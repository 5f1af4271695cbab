package local

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// crashDir is the name of an environment variable. If its value is a directory, the test program
// writes contents into that directory until it is killed.
const crashDir = "PERDURE_TEST_CRASH_DIR"

var crashed = uuid.MustParse("0190b3c5-0000-7000-8000-000000000001")

// crashContent returns a content that is so large that a kill usually interrupts its write.
func crashContent(writer, n int) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "writer %d content %d;", writer, n), 8000)
}

// writeForEver writes contents into a store until the process is killed. Four goroutines write at
// the same time. It prints the name of each stored content.
func writeForEver(dir string) {
	s, err := Open(dir)
	if err != nil {
		fmt.Println("failed", err)
		os.Exit(1)
	}
	var out sync.Mutex
	var group sync.WaitGroup
	for writer := range 4 {
		group.Go(func() {
			for n := 0; ; n++ {
				b := NewBatch(crashed)
				b.Name(fmt.Sprintf("%d/%d", writer, n), crashContent(writer, n))
				if err := s.Write(context.Background(), b); err != nil {
					fmt.Println("failed", err)
					os.Exit(1)
				}
				out.Lock()
				fmt.Println("stored", writer, n)
				out.Unlock()
			}
		})
	}
	group.Wait()
}

// TestKilledWriterLosesNothingStored checks a store whose process is killed during writes. Every
// content that was reported as stored exists, and every content with a name is complete.
func TestKilledWriterLosesNothingStored(t *testing.T) {
	dir := t.TempDir()
	done := map[string]bool{}
	for _, after := range []int{1, 7, 40} {
		for name := range killed(t, dir, after) {
			done[name] = true
		}
		s := openStore(t, dir)
		rows, err := s.readers.QueryContext(t.Context(), "SELECT name FROM names")
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				t.Fatal(err)
			}
			found[name] = true
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		for name := range done {
			if !found[name] {
				t.Errorf("%s was stored and is lost", name)
			}
		}
		for name := range found {
			var writer, n int
			if _, err := fmt.Sscanf(name, "%d/%d", &writer, &n); err != nil {
				t.Fatal(err)
			}
			got, err := s.Named(t.Context(), crashed, name)
			if err != nil || !bytes.Equal(got, crashContent(writer, n)) {
				t.Errorf("%s is there in part: %d bytes, %v", name, len(got), err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// killed starts a child process that writes contents. It kills the child after the child has
// reported `after` stored contents, and returns the names that the child has reported.
func killed(t *testing.T, dir string, after int) map[string]bool {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), crashDir+"="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var writer, n int
		if _, err := fmt.Sscanf(lines.Text(), "stored %d %d", &writer, &n); err != nil {
			if strings.HasPrefix(lines.Text(), "failed") {
				t.Fatal(lines.Text())
			}
			continue // the kill has cut this line short
		}
		told[fmt.Sprintf("%d/%d", writer, n)] = true
		if len(told) == after {
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := child.Wait(); err == nil {
		t.Fatal("the child ended by itself")
	}
	if len(told) < after {
		t.Fatalf("the child told of %d contents only", len(told))
	}
	return told
}

// TestShownBlockIsFoundByEveryHashItHad checks that the text of a streamed block up to the end of
// each chunk is found by its hash, even if a chunk was repeated with more text. A chunk is refused
// if text before it is missing.
func TestShownBlockIsFoundByEveryHashItHad(t *testing.T) {
	s := openStore(t, t.TempDir())
	execution := uuid.New()
	frames := []perdure.Frame{
		{Text: "The "}, {Offset: 4, Text: "quick"}, {Offset: 4, Text: "quick"}, {Offset: 4, Text: "quick brown"}, {Offset: 15, Text: "", Close: true},
	}
	b, g := NewBatch(execution), blockState{}
	for _, f := range frames {
		p, next, err := g.addTo(f)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.text) > 0 {
			b.show(p)
		}
		g = next
	}
	if err := s.Write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "The ", "The quick", "The quick brown"} {
		got, err := s.Get(t.Context(), execution, perdure.ContentRef(execution, []byte(text)).SHA256)
		if err != nil || string(got) != text {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	if _, _, err := g.addTo(perdure.Frame{Offset: 16, Text: "x"}); !perdure.IsCode(err, perdure.Conflict) {
		t.Errorf("a gap is taken: %v", err)
	}
}
