package results

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// clock is a clock whose time the test sets.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func open(t *testing.T, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t *testing.T, s *Store, k Key, result string) {
	t.Helper()
	if err := s.Put(k, []byte(result)); err != nil {
		t.Fatal(err)
	}
}

func newKey() Key {
	return Key{ExecutionID: uuid.New(), TaskID: uuid.New(), Input: perdure.Hash{1, 2, 3}}
}

func wantResult(t *testing.T, s *Store, k Key, want string) {
	t.Helper()
	if got, ok := s.Get(k); !ok || string(got) != want {
		t.Errorf("got %q (%t), want %q", got, ok, want)
	}
}

func wantNone(t *testing.T, s *Store, k Key) {
	t.Helper()
	if got, ok := s.Get(k); ok {
		t.Errorf("got %q, want no result", got)
	}
}

func TestResultsOutliveTheProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results")
	k := newKey()
	put(t, open(t, dir, Options{}), k, "paid for")
	s := open(t, dir, Options{})
	wantResult(t, s, k, "paid for")
	s.Remove(k)
	wantNone(t, s, k)
	wantNone(t, open(t, dir, Options{}), k)
}

func TestAnotherInputIsNotAnswered(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	k := newKey()
	put(t, s, k, "paid for")
	k.Input[0]++
	wantNone(t, s, k)
}

// TestDamagedFilesAreNoResults checks files that are cut, or have one changed bit at any position.
// Get returns no result for such a file, and removes it.
func TestDamagedFilesAreNoResults(t *testing.T) {
	k := newKey()
	whole := encode(k.Input, []byte("paid for"))
	try := func(raw []byte) {
		t.Helper()
		dir := t.TempDir()
		put(t, open(t, dir, Options{}), k, "paid for")
		path := filepath.Join(dir, k.ExecutionID.String()+"."+k.TaskID.String())
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		wantNone(t, open(t, dir, Options{}), k)
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("the damaged file is still there: %v", err)
		}
	}
	for n := range whole {
		try(whole[:n])
		flipped := bytes.Clone(whole)
		flipped[n] ^= 1
		try(flipped)
	}
}

func TestResultsExpire(t *testing.T) {
	dir, c := t.TempDir(), &clock{time.Now()}
	s := open(t, dir, Options{Age: time.Hour, Now: c.Now})
	k := newKey()
	put(t, s, k, "paid for")
	c.now = c.now.Add(59 * time.Minute)
	wantResult(t, s, k, "paid for")
	c.now = c.now.Add(2 * time.Minute)
	if open(t, dir, Options{Age: time.Hour, Now: c.Now}).Len() != 0 {
		t.Error("a start keeps what has expired")
	}
	wantNone(t, s, k)
}

func TestTheOldestMakeRoom(t *testing.T) {
	c := &clock{time.Now()}
	s := open(t, t.TempDir(), Options{Bytes: 3 * block, Now: c.Now})
	keys := []Key{newKey(), newKey(), newKey(), newKey()}
	for _, k := range keys {
		c.now = c.now.Add(time.Second)
		put(t, s, k, "paid for")
	}
	wantNone(t, s, keys[0])
	for _, k := range keys[1:] {
		wantResult(t, s, k, "paid for")
	}
	if err := s.Put(newKey(), make([]byte, 3*block)); !perdure.IsCode(err, perdure.PayloadTooLarge) {
		t.Errorf("a result over the bound: %v", err)
	}
	if s.Len() != 3 || s.bytes != 3*block {
		t.Errorf("%d results, %d bytes after a refusal", s.Len(), s.bytes)
	}
}

func TestFilesAreTheOwnersAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results")
	s := open(t, dir, Options{})
	k := newKey()
	put(t, s, k, "paid for")
	for path, want := range map[string]os.FileMode{dir: 0o700, s.path(k.name()): 0o600} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has the mode %s, want %s", path, info.Mode().Perm(), want)
		}
	}
}

func TestForeignFilesAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, Options{Age: time.Nanosecond})
	if s.Len() != 0 {
		t.Errorf("%d results", s.Len())
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

func TestResultsOfAnExecutionAreRemoved(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	one, other := newKey(), newKey()
	second := Key{ExecutionID: one.ExecutionID, TaskID: uuid.New()}
	for _, k := range []Key{one, second, other} {
		put(t, s, k, "paid for")
	}
	s.RemoveExecution(one.ExecutionID)
	wantNone(t, s, one)
	wantNone(t, s, second)
	wantResult(t, s, other, "paid for")
}
