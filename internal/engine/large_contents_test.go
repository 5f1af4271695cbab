package engine

import (
	"context"
	"crypto/sha256"
	"io"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// endless is a reader of zero bytes. The field `left` counts the bytes that are still to be read,
// and `read` those that were read.
type endless struct{ left, read int64 }

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), e.left)
	e.left, e.read = e.left-n, e.read+n
	return int(n), nil
}

// TestAnUploadIsStoredPieceByPiece checks that the server stores an upload piece by piece. It never
// reads more than one piece beyond the bytes that are stored, and no command contains more than one
// piece. A piece is large enough that 1 MiB takes only 4 commands. More commands would be slow,
// because each one waits for the disk.
func TestAnUploadIsStoredPieceByPiece(t *testing.T) {
	b := newBench(t)
	id := b.start()
	content := &endless{left: 1 << 20}
	stored, commands := int64(0), 0
	const piece = 4 * perdure.BlobChunk
	b.use(&spy{Store: b.s, before: func(c store.Command) error {
		if c.Name != "blob" {
			return nil
		}
		if c.Lane != store.LaneChunks || c.Bytes > piece {
			t.Errorf("a piece of %d bytes is in lane %d", c.Bytes, c.Lane)
		}
		if ahead := content.read - stored; ahead > piece {
			t.Errorf("%d bytes were read ahead of what is stored", ahead)
		}
		stored, commands = stored+int64(c.Bytes), commands+1
		return nil
	}})
	ref, err := b.e.PutContent(b.Context(), org, id, 1<<20, content)
	b.must(err)
	if commands != 4 {
		t.Errorf("1 MiB took %d commands", commands)
	}
	if stored != 1<<20 || ref.SHA256 != perdure.Hash(sha256.Sum256(make([]byte, 1<<20))) {
		t.Errorf("%d bytes are stored as %+v", stored, ref)
	}
}

// large is a store that counts the reads that load whole contents into memory.
type large struct {
	store.Store
	whole int
}

func (l *large) Execution(ctx context.Context, org string, id uuid.UUID) (*perdure.Execution, error) {
	l.whole++
	return l.Store.Execution(ctx, org, id)
}

func (l *large) Tasks(ctx context.Context, execution uuid.UUID, ids []uuid.UUID, lazy bool) ([]*perdure.Task, error) {
	l.whole++
	return l.Store.Tasks(ctx, execution, ids, lazy)
}

func (l *large) Checkpoint(ctx context.Context, execution uuid.UUID, sequence int64) (*perdure.Checkpoint, error) {
	l.whole++
	return l.Store.Checkpoint(ctx, execution, sequence)
}

func (l *large) PendingSignals(ctx context.Context, execution uuid.UUID, patterns []string, after int64, limit int) ([]perdure.Signal, error) {
	l.whole++
	return l.Store.PendingSignals(ctx, execution, patterns, after, limit)
}

// TestWorkersElsewhereAreGivenReferences checks that a remote worker gets a reference to the
// content of a large signal, and that the server does not load the content. A worker in the process
// of the server gets the content itself.
func TestWorkersElsewhereAreGivenReferences(t *testing.T) {
	b := newBench(t)
	id := b.start()
	ref, err := b.e.PutContent(b.Context(), org, id, 100_000, strings.NewReader(`"`+strings.Repeat("x", 99_998)+`"`))
	b.must(err)
	_, err = b.e.Signal(b.Context(), org, id, SignalRequest{Name: "n", Ref: &ref.ID})
	b.must(err)
	counted := &large{Store: b.s}
	b.use(counted)
	remote := b.e.Remote(org)
	claims, err := remote.PollAgents(b.Context(), b.poll(1))
	b.must(err)
	if s := claims[0].Signals[0]; s.Value != nil || s.Blob == nil || *s.Blob != ref {
		t.Errorf("the signal comes with %d bytes, %+v", len(s.Value), s.Blob)
	}
	signals, err := remote.Signals(b.Context(), id, nil, 0, 10)
	b.must(err)
	if s := signals[0]; s.Value != nil || s.Blob == nil {
		t.Errorf("asked for, it comes with %d bytes, %+v", len(s.Value), s.Blob)
	}
	_, err = remote.Execution(b.Context(), id)
	b.must(err)
	_, err = remote.Tasks(b.Context(), id, []uuid.UUID{uuid.New()})
	b.must(err)
	if counted.whole != 0 {
		t.Errorf("the server read %d times with all contents", counted.whole)
	}
	local, err := b.d.Signals(b.Context(), id, nil, 0, 10)
	b.must(err)
	if s := local[0]; len(s.Value) != 100_000 || s.Blob != nil {
		t.Errorf("in this process it comes with %d bytes, %+v", len(s.Value), s.Blob)
	}
}

// TestEveryPayloadHasALimit checks that a payload over the limit is refused in each part of a
// commit, in the result of a task and in a signal.
func TestEveryPayloadHasALimit(t *testing.T) {
	b := newBench(t)
	h := b.started()
	over := make([]byte, b.e.PayloadLimit+1)
	for name, edit := range map[string]func(c *perdure.Commit){
		"entry": func(c *perdure.Commit) { c.Entries = []perdure.NewEntry{{Entry: perdure.Entry{Content: over}}} },
		"step":  func(c *perdure.Commit) { c.Steps = []perdure.StepRecord{{Result: perdure.Inline(over)}} },
		"task": func(c *perdure.Commit) {
			c.Tasks = []perdure.NewTask{{Kind: "k", Key: "k", Input: perdure.Inline(over)}}
		},
		"checkpoint": func(c *perdure.Commit) { c.Checkpoint = &perdure.NewCheckpoint{State: perdure.Inline(over)} },
		"output": func(c *perdure.Commit) {
			c.Outcome = perdure.Outcome{Kind: perdure.OutcomeComplete, Output: perdure.Inline(over)}
		},
	} {
		if _, err := h.try(edit); !perdure.IsCode(err, perdure.PayloadTooLarge) {
			t.Errorf("%s gives %v", name, err)
		}
	}
	_, err := b.d.FinishTask(b.Context(), perdure.TaskFinish{Result: perdure.Inline(over)})
	b.wantCode(err, perdure.PayloadTooLarge)
	_, err = b.e.Signal(b.Context(), org, h.id, SignalRequest{Name: "n", Value: over})
	b.wantCode(err, perdure.PayloadTooLarge)
}
