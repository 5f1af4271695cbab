package worker

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// tree is a dispatch with entries in memory. It counts the entries that it returns.
type tree struct {
	perdure.Dispatch
	entries map[uuid.UUID]perdure.Entry
	given   int
	earlier bool // imitates an older server, which ignores the query's field Context
}

func (tr *tree) add(parent *uuid.UUID, text string) *uuid.UUID {
	e, err := perdure.NewMessageEntry(user(text))
	if err != nil {
		panic(err)
	}
	e.ParentID = parent
	tr.entries[e.ID] = e
	return &e.ID
}

func (tr *tree) Entries(_ context.Context, q perdure.EntryQuery) iter.Seq2[perdure.Entry, error] {
	return func(yield func(perdure.Entry, error) bool) {
		if q.Context && !tr.earlier {
			path := tr.contextPath(q)
			tr.given += len(path)
			yieldAll(path, yield)
			return
		}
		var path []perdure.Entry
		for at := &q.Leaf; at != nil && (q.After == nil || *at != *q.After); at = tr.entries[*at].ParentID {
			path = append(path, tr.entries[*at])
		}
		if q.After != nil && (len(path) == 0 || path[len(path)-1].ParentID == nil) {
			yield(perdure.Entry{}, perdure.Errorf(perdure.NotFound, "not on the path"))
			return
		}
		slices.Reverse(path)
		for _, e := range path {
			tr.given++
			if !yield(e, nil) {
				return
			}
		}
	}
}

func textsOf(t *testing.T, entries iter.Seq2[perdure.Entry, error]) string {
	t.Helper()
	var said []string
	for e, err := range entries {
		if err != nil {
			t.Fatal(err)
		}
		m, err := e.Message()
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, m.PlainText())
	}
	return strings.Join(said, " ")
}

// TestPathReadsOnlyWhatIsNew checks that the method `path` reads from the server only entries that
// are not cached.
func TestPathReadsOnlyWhatIsNew(t *testing.T) {
	tr := &tree{entries: map[uuid.UUID]perdure.Entry{}}
	w := New(Config{Dispatch: tr})
	x := uuid.New()
	read := func(leaf *uuid.UUID, want string, given int) {
		t.Helper()
		before := tr.given
		if got := textsOf(t, w.path(t.Context(), x, *leaf)); got != want {
			t.Fatalf("the path is %q, want %q", got, want)
		}
		if n := tr.given - before; n != given {
			t.Errorf("reading %q took %d entries from the server, want %d", want, n, given)
		}
	}
	a := tr.add(nil, "a")
	b := tr.add(a, "b")
	read(b, "a b", 2)
	read(b, "a b", 0)
	c := tr.add(b, "c")
	d := tr.add(c, "d")
	read(d, "a b c d", 2)
	read(a, "a", 0) // the path to a is the beginning of the cached path
	read(d, "a b c d", 0)
	// The path to e is on another branch, so it is read from the root, and then cached.
	e := tr.add(b, "e")
	read(e, "a b e", 3)
	f := tr.add(e, "f")
	read(f, "a b e f", 1)
	read(d, "a b c d", 4)
	// An iteration that stops early still caches the whole path.
	for range w.path(t.Context(), uuid.New(), *d) {
		break
	}
	read(d, "a b c d", 0)
}

// TestPathsAreForgotten checks that the cache of paths stays within its limit in bytes. It evicts
// the least recently used path, and keeps the most recently used one.
func TestPathsAreForgotten(t *testing.T) {
	tr := &tree{entries: map[uuid.UUID]perdure.Entry{}}
	w := New(Config{Dispatch: tr})
	content := make([]byte, 10<<20)
	var leaves []*uuid.UUID
	var ids []uuid.UUID
	read := func(i int) {
		for _, err := range w.path(t.Context(), ids[i], *leaves[i]) {
			if err != nil {
				t.Error(err)
			}
		}
	}
	for i := range 20 {
		e := perdure.Entry{ID: uuid.New(), Content: content}
		tr.entries[e.ID] = e
		leaves, ids = append(leaves, &e.ID), append(ids, uuid.New())
		read(i)
	}
	w.paths.mu.Lock()
	held := w.paths.bytes
	w.paths.mu.Unlock()
	if held > maxCachedPaths || held < 20<<20 {
		t.Errorf("%d bytes are held, the bound is %d", held, maxCachedPaths)
	}
	before := tr.given
	read(19)
	if tr.given != before {
		t.Error("the path that was used last was forgotten first")
	}
	read(0)
	if tr.given == before {
		t.Error("the path that was used longest ago is still held")
	}
}

// TestTurnsDoNotReadTheConversationAgain checks that 30 turns of a conversation, each with a
// message of the user, read entries from the server at most twice, with parked goroutines and
// without.
func TestTurnsDoNotReadTheConversationAgain(t *testing.T) {
	for _, n := range []int{100, -1} {
		b := newBench(t, 20*time.Second)
		b.agent("a", func(ctx agent.Context) (string, error) {
			var turn int
			if _, err := ctx.State(&turn); err != nil {
				return "", err
			}
			for ; turn < 30; turn++ {
				if _, err := ctx.WaitSignal("go", 0); err != nil {
					return "", err
				}
				if _, err := ctx.Append(user(fmt.Sprint(turn)), agent.WithKey(fmt.Sprint(turn))); err != nil {
					return "", err
				}
				if err := ctx.Checkpoint(turn + 1); err != nil {
					return "", err
				}
				if got := len(strings.Fields(textsOf(t, ctx.Messages()))); got != turn+1 {
					return "", fmt.Errorf("turn %d sees %d messages", turn, got)
				}
			}
			return "fine", nil
		})
		f := &faulty{}
		b.work(b.overFaulty(f), func(c *Config) { c.Parked = n })
		id := b.start("a")
		for range 30 {
			b.signal(id, "go", "1")
		}
		b.output(id, "fine")
		if reads := f.count("Entries"); reads > 2 {
			t.Errorf("parked %d: the path was asked for %d times", n, reads)
		}
	}
}

// TestAdoptedEntriesInMessages checks a function that is entered again and repeats its appends with
// the same keys. Messages returns each entry once.
func TestAdoptedEntriesInMessages(t *testing.T) {
	b := newBench(t, 20*time.Second)
	b.agent("a", func(ctx agent.Context) (string, error) {
		for _, text := range []string{"one", "two"} {
			if _, err := ctx.Append(user(text), agent.WithKey(text)); err != nil {
				return "", err
			}
		}
		if _, err := ctx.WaitSignal("go", 0); err != nil {
			return "", err
		}
		if _, err := ctx.Append(user("three"), agent.WithKey("three")); err != nil {
			return "", err
		}
		if err := ctx.Flush(); err != nil {
			return "", err
		}
		return textsOf(t, ctx.Messages()), nil
	})
	b.work(func(c *Config) { c.Parked = -1 })
	id := b.start("a")
	b.waiting(id, "signal")
	b.signal(id, "go", "1")
	b.output(id, "one two three")
}

// BenchmarkFullPathCache measures adding one entry to a cache that is full of short paths.
func BenchmarkFullPathCache(b *testing.B) {
	var p paths
	entry := []perdure.Entry{{Content: make([]byte, 100)}}
	for p.bytes < maxCachedPaths-2000 {
		p.add(uuid.New(), entry)
	}
	for b.Loop() {
		p.add(uuid.New(), entry)
	}
}
