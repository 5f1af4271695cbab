package worker

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// compactingAgent appends messages, and a compaction that keeps the newest message. It waits for a
// signal, and then returns the texts of its context.
func compactingAgent(ctx agent.Context) (string, error) {
	if done, err := ctx.State(new(bool)); err != nil {
		return "", err
	} else if !done {
		var ids []uuid.UUID
		for _, text := range []string{"first", "second", "third", "newest"} {
			id, err := ctx.Append(user(text))
			if err != nil {
				return "", err
			}
			ids = append(ids, id)
		}
		summary := perdure.Message{Role: perdure.RoleUser, Content: perdure.Content{Parts: []perdure.Part{perdure.Compaction("summary")}}}
		_, err := ctx.Append(summary, agent.AsCompaction(perdure.CompactionRecord{
			Last: ids[2], KeepFrom: &ids[3], Pinned: ids[:1], Reason: perdure.CompactionManual,
		}))
		if err != nil {
			return "", err
		}
		if err := ctx.Checkpoint(true); err != nil {
			return "", err
		}
	}
	if _, err := ctx.WaitSignal("go", 0); err != nil {
		return "", err
	}
	var path []perdure.Entry
	for e, err := range ctx.ContextPath() {
		if err != nil {
			return "", err
		}
		path = append(path, e)
	}
	seen, err := perdure.ContextOf(path)
	var texts []string
	for _, e := range seen.Entries {
		m, err := e.Message()
		if err != nil {
			return "", err
		}
		texts = append(texts, m.Parts[0].Text)
	}
	return strings.Join(texts, " "), err
}

// TestCompactedRunIsResumed checks that a worker that has nothing of a compacted execution in its
// memory reads the execution's context correctly, on every kind of store. For a LOCAL execution, it
// reads the contents from its local store.
func TestCompactedRunIsResumed(t *testing.T) {
	const want = "first summary newest"
	everyWay(t, 20*time.Second, func(b *bench, way func(*Config)) {
		b.agent("a", compactingAgent)
		first := b.work(way)
		id := b.start("a")
		b.waiting(id, "signal")
		first.stop()
		b.signal(id, "go", "1")
		b.work(way)
		b.output(id, want)
	})
	t.Run("local", func(t *testing.T) {
		b := newBench(t, 20*time.Second)
		b.mode = perdure.Local
		b.agent("a", compactingAgent)
		store := b.newStore()
		first := b.work(func(c *Config) { c.Local = store })
		id := b.start("a")
		b.waiting(id, "signal")
		first.stop()
		b.signal(id, "go", "1")
		again := b.work(func(c *Config) { c.Local = store })
		b.output(id, want)
		if held := again.paths.held(id); !held.partial || len(held.entries) != 2 {
			t.Errorf("the worker has read %d entries, want those from the compaction", len(held.entries))
		}
	})
}
