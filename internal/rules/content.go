package rules

import (
	"encoding"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// CheckedRef is one use of an uploaded content: for an entry, for the details of a question, or, if
// Entry and Question are uuid.Nil, for any JSON value.
type CheckedRef struct{ Blob, Entry, Question uuid.UUID }

// CheckedRefs contains the results of the checks of uploaded contents. The engine makes the checks
// before it calls a function of this package. For a valid content the result is nil, otherwise the
// error with which the function refuses the content.
type CheckedRefs map[CheckedRef]error

// useContent adds an uploaded content to the commit, if the content has passed its check. `entry`
// is the id of the entry with the content; uuid.Nil for other contents. Errors: conflict, if the
// upload was incomplete at the check; the error of the check.
func (d *draft) useContent(ref *perdure.BlobRef, entry uuid.UUID) error {
	if ref == nil || d.local() {
		return d.useBlob(ref)
	}
	return d.useChecked(CheckedRef{Blob: ref.ID, Entry: entry}, ref)
}

// useChecked is like useContent for any use of a content.
func (d *draft) useChecked(use CheckedRef, ref *perdure.BlobRef) error {
	err, read := d.refs[use]
	if !read {
		return notWhole(ref.ID)
	}
	if err != nil {
		return err
	}
	return d.useBlob(ref)
}

// useBlob adds an uploaded blob to the commit. The blob then belongs to the execution. A content of
// a LOCAL execution is not uploaded; only its reference is stored. Error: conflict, if the upload
// is incomplete or differs from the reference.
func (d *draft) useBlob(ref *perdure.BlobRef) error {
	if ref == nil {
		return nil
	}
	if d.local() {
		return d.withhold(*ref)
	}
	b, ok := d.s.Blobs[ref.ID]
	if !ok || b.Held != b.Length || b.Length != ref.Length || b.SHA256 != ref.SHA256 {
		return notWhole(ref.ID)
	}
	d.c.OwnBlobs = append(d.c.OwnBlobs, ref.ID)
	return nil
}

func notWhole(blob uuid.UUID) error {
	return perdure.Errorf(perdure.Conflict, "blob %s is not there whole; upload it again", blob)
}

// uploaded adds to the changes a content that a client has uploaded. It returns a reference to the
// content. Error: invalid_argument, if the upload is incomplete.
func (d *draft) uploaded(id *uuid.UUID) (*perdure.BlobRef, error) {
	if id == nil {
		return nil, nil
	}
	b, ok := d.s.Blobs[*id]
	if !ok || b.Held != b.Length {
		return nil, noContent(*id)
	}
	ref := &perdure.BlobRef{ID: b.ID, Length: b.Length, SHA256: b.SHA256}
	return ref, d.useBlob(ref)
}

func noContent(id uuid.UUID) error {
	return perdure.FieldErrorf("signalValueRef.blobId", "there is no whole content %s of this execution; upload it first (PUT .../content)", id)
}

// ChunkNeeds says which rows the engine must read into the store.State that it passes to AppendChunk.
func ChunkNeeds(x *perdure.Execution, owner perdure.BlobOwner, blob uuid.UUID) store.Needs {
	n := store.Needs{Blobs: []uuid.UUID{blob}}
	if owner.Lease == nil && owner.TaskLease == nil {
		n.UseOf = limitedBy(x)
	}
	if owner.TaskLease != nil {
		n.Tasks = []uuid.UUID{owner.TaskLease.TaskID}
	}
	return n
}

// AppendChunk appends a piece to a content that is being uploaded. `at` is the offset of the piece
// in bytes. The command's result is the hash of the content up to the end of the piece.
// Errors: not_found, execution_ended, lease_lost, conflict, rate_limited.
func AppendChunk(s *store.State, owner perdure.BlobOwner, ref perdure.BlobRef, at int64, chunk []byte) (*store.Changes, error) {
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
	return &store.Changes{Blob: b, BlobChunk: chunk, BlobChunkAt: at, Answer: &Decision{Value: b.SHA256}}, nil
}

func checkOwner(s *store.State, owner perdure.BlobOwner) error {
	switch {
	case owner.Lease == nil && owner.TaskLease == nil:
		return takesContent(s, owner.ExecutionID)
	case owner.Lease != nil && HeldBy(s.Execution, *owner.Lease):
		return nil
	case owner.TaskLease != nil && TaskHeldBy(s.Tasks[owner.TaskLease.TaskID], *owner.TaskLease):
		return nil
	}
	return leaseLost(owner.ExecutionID)
}

// takesContent checks that clients may upload content for the execution: it exists and has not
// ended.
func takesContent(s *store.State, id uuid.UUID) error {
	if s.Execution == nil {
		return noExecution(id)
	}
	if s.Execution.Status.Terminal() {
		return perdure.Errorf(perdure.ExecutionEnded, "execution %s is %s and takes no more content", id, s.Execution.Status)
	}
	return nil
}
