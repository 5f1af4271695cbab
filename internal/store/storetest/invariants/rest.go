package invariants

import (
	"crypto/sha256"
	"encoding/json"
	"errors"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// checkRest checks that texts that are repeated are stored once. A closed block must either have
// its content or refer to an equal text of an entry; a superseded block must do neither. If an
// attempt was retried, all its blocks must be superseded, except those whose text an entry
// contains.
func (i *execution) checkRest() {
	i.Helper()
	blocks, err := i.audit.AuditBlocks(i.ctx, i.id)
	if i.failed("closed blocks", err) {
		return
	}
	entries := map[uuid.UUID]*perdure.Entry{}
	for _, b := range blocks {
		i.checkBlockRest(b, entries)
	}
	i.checkResultRests()
}

// checkResultRests checks task results that refer to an entry. The task's row must contain fewer
// bytes than the whole result. If the result is in a blob, the reference to that blob must have the
// length and hash of the whole result.
func (i *execution) checkResultRests() {
	i.Helper()
	rests, err := i.audit.AuditResults(i.ctx, i.id)
	if i.failed("results", err) {
		return
	}
	for _, r := range rests {
		tasks, err := i.s.Tasks(i.ctx, i.id, []uuid.UUID{r.Task}, false)
		lazy, lazyErr := i.s.Tasks(i.ctx, i.id, []uuid.UUID{r.Task}, true)
		if i.failed("task", errors.Join(err, lazyErr)) || tasks[0] == nil {
			return
		}
		t := tasks[0]
		if t.Status != perdure.TaskCompleted || r.Held >= int64(len(t.Result)) {
			i.broken("has the task %s, %s, whose result of %d bytes names an entry and holds %d", r.Task, t.Status, len(t.Result), r.Held)
		}
		if ref := lazy[0].ResultBlob; ref != nil && (int64(len(t.Result)) != ref.Length || sha256.Sum256(t.Result) != ref.SHA256) {
			i.broken("has the task %s with another result than its blob's hash says", r.Task)
		}
	}
}

func (i *execution) checkBlockRest(b store.BlockRest, entries map[uuid.UUID]*perdure.Entry) {
	i.Helper()
	if b.Cut != b.Length {
		i.broken("has the block %d of %d bytes, its cuts are of %d", b.Seq, b.Length, b.Cut)
	}
	if b.Reason == perdure.BlockSuperseded {
		if b.Held > 0 || b.Blob || b.Entry != nil {
			i.broken("keeps content of the block %d, which is superseded", b.Seq)
		}
		return
	}
	if b.Entry == nil {
		if i.retried[perdure.BlockKey{TaskID: b.Key.TaskID, Attempt: b.Key.Attempt}] {
			i.broken("has the block %d of attempt %d of task %s closed as %s, and the task was tried again", b.Seq, b.Key.Attempt, b.Key.TaskID, b.Reason)
		}
		if !b.Blob && b.Held != b.Length || b.Blob && b.Held > 0 {
			i.broken("has the block %d of %d bytes, and holds %d (a blob stands for it: %v)", b.Seq, b.Length, b.Held, b.Blob)
		}
		return
	}
	e := entries[*b.Entry]
	if e == nil {
		var err error
		if e, err = i.s.Entry(i.ctx, i.id, *b.Entry); i.failed("entry that a block names", err) {
			return
		}
		entries[*b.Entry] = e
	}
	said := textAt(e.Content, b.Path)
	if b.Held > 0 || b.Blob || int64(len(said)) != b.Length || sha256.Sum256([]byte(said)) != b.SHA256 {
		i.broken("has the block %d of %d bytes and holds %d of them; it names %s of entry %s, which has %d", b.Seq, b.Length, b.Held, b.Path, b.Entry, len(said))
	}
}

// textAt returns the text at a path in a content; "" if the content has no text at this path.
func textAt(content json.RawMessage, path string) string {
	for _, t := range store.EntryTexts(content) {
		if t.Path == path {
			return t.Text
		}
	}
	return ""
}
