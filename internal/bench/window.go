package bench

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// windowKind is the kind of the agent whose conversation is compacted.
const windowKind = "bench-window"

// windowKept is the number of entries that the compaction keeps, and windowSize their size in bytes.
const windowKept, windowSize = 100, 1 << 10

// windowInput requests a number of entries before the compaction.
type windowInput struct {
	Entries int `json:"entries"`
}

// contextWindow is W9: a conversation of many entries is compacted. A worker in a new process,
// without caches, then reads the context and continues. The compaction and the read must each cost
// the same for any number of entries.
func contextWindow(ctx context.Context, b *bench) error {
	for _, entries := range pick(b, []int{200}, []int{1000, 10_000, 100_000}) {
		err := b.on(ctx, deploymentSpec{slots: 4}, func(s *deployment) error {
			if _, err := s.agent(windowKind, windowInput{Entries: entries}); err != nil {
				return err
			}
			if err := s.worker.ask("arrived", workerArgs{"compacted", 1}, nil); err != nil {
				return err
			}
			if err := b.takeovers(s, entries, syscall.SIGTERM); err != nil {
				return err
			}
			var took []time.Duration
			if err := s.worker.ask("samples", workerArgs{Name: "context"}, &took); err != nil {
				return err
			}
			var bytes []time.Duration
			if err := s.worker.ask("samples", workerArgs{Name: "context bytes"}, &bytes); err != nil {
				return err
			}
			var f Figures
			f.add("ms", millis(took[0]))
			f.add("KiB read", float64(bytes[0])/1024)
			b.add(fmt.Sprintf("%d entries, first context", entries), f)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// windowed is an agent that appends entries, compacts them, and then runs steps without end. When its
// function is entered again, it first reads the context.
func (r *recorder) windowed(ctx agent.Context, in windowInput) (string, error) {
	var g growState
	if _, err := ctx.State(&g); err != nil {
		return "", err
	}
	if g.Entries < in.Entries {
		if err := r.compactAfter(ctx, in.Entries); err != nil {
			return "", err
		}
		g.Entries = in.Entries
		if err := ctx.Checkpoint(g); err != nil {
			return "", err
		}
		r.reach("compacted")
	}
	began, bytes := time.Now(), 0
	for e, err := range ctx.ContextPath() {
		if err != nil {
			return "", err
		}
		bytes += len(e.Content) + len(e.Metadata)
	}
	r.since("context", began)
	r.add("context bytes", time.Duration(bytes))
	return "", r.beat(ctx, g)
}

// compactAfter appends n entries, and a compaction that keeps the newest windowKept entries.
func (r *recorder) compactAfter(ctx agent.Context, n int) error {
	var ids []uuid.UUID
	for i := range n {
		id, err := ctx.Append(perdure.UserText(body(windowSize)))
		if err != nil {
			return err
		}
		if ids = append(ids, id); i%entriesPerCommit == entriesPerCommit-1 {
			if err := ctx.Flush(); err != nil {
				return err
			}
		}
	}
	from := n - windowKept
	summary := perdure.Message{Role: perdure.RoleUser, Content: perdure.Content{Parts: []perdure.Part{perdure.Compaction("A summary.")}}}
	_, err := ctx.Append(summary, agent.AsCompaction(perdure.CompactionRecord{
		Last: ids[from-1], KeepFrom: &ids[from], Pinned: ids[:1], Reason: perdure.CompactionManual, Messages: from - 1,
	}))
	return err
}
