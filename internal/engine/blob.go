package engine

import (
	"cmp"
	"context"
	"encoding"
	"io"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// putBlob stores content in small transactions of its own; the server holds one piece of it at a
// time. It records whether the content is JSON that workers may send, so that the commit that
// refers to it need not read it again.
func (e *Engine) putBlob(ctx context.Context, org string, owner perdure.BlobOwner, length int64, content io.Reader) (perdure.BlobRef, error) {
	if err := e.checkSize("the content", length); err != nil {
		return perdure.BlobRef{}, err
	}
	if length < 0 {
		return perdure.BlobRef{}, perdure.FieldErrorf("length", "must be how many bytes the content has")
	}
	u := e.newUpload(ctx, org, owner, length, content)
	passed := e.checksUploads(owner) && perdure.CheckDocument("", u, workersJSON) == nil
	if err := u.finish(); err != nil {
		return u.ref, err
	}
	if passed {
		e.passed.add(u.ref.ID)
	}
	return u.ref, nil
}

// checkSize refuses a payload over the limit, before any of it is read.
func (e *Engine) checkSize(what string, size int64) error {
	if size <= e.PayloadLimit {
		return nil
	}
	return perdure.Errorf(perdure.PayloadTooLarge, "%s has %d bytes; the limit is %d", what, size, e.PayloadLimit)
}

// checkSizes checks each payload of a commit against the size limit.
func (e *Engine) checkSizes(c perdure.Commit) error {
	sizes := []error{e.checkSize("the output", c.Outcome.Output.Size())}
	for _, n := range c.Entries {
		sizes = append(sizes, e.checkSize("an entry's content", perdure.Payload{Bytes: n.Content, Blob: n.Blob}.Size()))
	}
	for _, t := range c.Tasks {
		sizes = append(sizes, e.checkSize("the input of a "+t.Kind, t.Input.Size()))
	}
	for _, s := range c.Steps {
		sizes = append(sizes, e.checkSize("the result of step "+s.Name, s.Result.Size()))
	}
	if c.Checkpoint != nil {
		sizes = append(sizes, e.checkSize("the checkpoint's state", c.Checkpoint.State.Size()))
	}
	return cmp.Or(sizes...)
}

// PutContent stores content for an execution, ahead of the signal that refers to it. A content that
// nothing refers to within an hour is deleted. Errors: not_found, execution_ended,
// payload_too_large, invalid_argument, rate_limited.
func (e *Engine) PutContent(ctx context.Context, org string, execution uuid.UUID, length int64, content io.Reader) (perdure.BlobRef, error) {
	return e.putBlob(ctx, org, perdure.BlobOwner{ExecutionID: execution}, length, content)
}

func (e *Engine) putChunk(ctx context.Context, org string, owner perdure.BlobOwner, ref perdure.BlobRef, at int64, chunk []byte) (perdure.Hash, error) {
	d, err := e.one(ctx, store.Command{
		Name: "blob", Lane: store.LaneChunks, Org: org, Execution: owner.ExecutionID, Bytes: len(chunk),
		Needs: func(x *perdure.Execution) store.Needs {
			n := store.Needs{Blobs: []uuid.UUID{ref.ID}}
			if owner.Lease == nil && owner.TaskLease == nil {
				n.UseOf = limitedBy(x)
			}
			if owner.TaskLease != nil {
				n.Tasks = []uuid.UUID{owner.TaskLease.TaskID}
			}
			return n
		},
		Decide: func(s *store.State) (*store.Changes, error) { return decideChunk(s, owner, ref, at, chunk) },
	})
	if err != nil {
		return perdure.Hash{}, err
	}
	return d.value.(perdure.Hash), nil
}

func decideChunk(s *store.State, owner perdure.BlobOwner, ref perdure.BlobRef, at int64, chunk []byte) (*store.Changes, error) {
	if err := checkOwner(s, owner); err != nil {
		return nil, err
	}
	b := s.Blobs[ref.ID]
	if b == nil {
		b = &store.Blob{ID: ref.ID, Length: ref.Length}
	}
	if b.Held != at {
		return nil, perdure.Errorf(perdure.Conflict, "blob %s holds %d bytes, not %d", ref.ID, b.Held, at)
	}
	if err := roomToStore(s, ref.Length-at); err != nil {
		return nil, err
	}
	h, err := digest(b.Digest)
	if err != nil {
		return nil, err
	}
	h.Write(chunk)
	if b.Digest, err = h.(encoding.BinaryMarshaler).MarshalBinary(); err != nil {
		return nil, err
	}
	b.Held += int64(len(chunk))
	h.Sum(b.SHA256[:0])
	return &store.Changes{Blob: b, BlobChunk: chunk, BlobChunkAt: at, Answer: &decided{value: b.SHA256}}, nil
}

func checkOwner(s *store.State, owner perdure.BlobOwner) error {
	switch {
	case owner.Lease == nil && owner.TaskLease == nil:
		return takesContent(s, owner.ExecutionID)
	case owner.Lease != nil && heldBy(s.Execution, *owner.Lease):
		return nil
	case owner.TaskLease != nil && taskHeldBy(s.Tasks[owner.TaskLease.TaskID], *owner.TaskLease):
		return nil
	}
	return leaseLost(owner.ExecutionID)
}

// takesContent checks that clients may upload for the execution: it exists and has not ended.
func takesContent(s *store.State, id uuid.UUID) error {
	if s.Execution == nil {
		return notFound(id)
	}
	if s.Execution.Status.Terminal() {
		return perdure.Errorf(perdure.ExecutionEnded, "execution %s is %s and takes no more content", id, s.Execution.Status)
	}
	return nil
}
