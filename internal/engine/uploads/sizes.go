package uploads

import (
	"cmp"
	"context"
	"io"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// Put stores an uploaded content, one piece after the other, each in its own transaction. Only one
// piece is in memory. Put also checks whether the upload of a worker is valid JSON. The commit that
// refers to the content then need not read the content. Errors: payload_too_large, invalid_argument
// (length), and those of the store.
func (u *Uploads) Put(ctx context.Context, org string, owner perdure.BlobOwner, length int64, content io.Reader) (perdure.BlobRef, error) {
	if err := u.CheckSize("the content", length); err != nil {
		return perdure.BlobRef{}, err
	}
	if length < 0 {
		return perdure.BlobRef{}, perdure.FieldErrorf("length", "must be how many bytes the content has")
	}
	up := u.newUpload(ctx, org, owner, length, content)
	passed := u.checksUploads(owner) && perdure.CheckDocument("", up, workersJSON) == nil
	if err := up.finish(); err != nil {
		return up.ref, err
	}
	if passed {
		u.cache.add(up.ref.ID)
	}
	return up.ref, nil
}

// CheckSize returns the error payload_too_large if the parameter `size` exceeds the limit. The
// parameter `what` names the content in the error.
func (u *Uploads) CheckSize(what string, size int64) error {
	if size <= u.limit {
		return nil
	}
	return perdure.Errorf(perdure.PayloadTooLarge, "%s has %d bytes; the limit is %d", what, size, u.limit)
}

// CheckSizes checks each payload of a commit against the size limit.
func (u *Uploads) CheckSizes(c perdure.Commit) error {
	sizes := []error{u.CheckSize("the output", c.Outcome.Output.Size())}
	for _, n := range c.Entries {
		sizes = append(sizes, u.CheckSize("an entry's content", perdure.Payload{Bytes: n.Content, Blob: n.Blob}.Size()))
	}
	for _, t := range c.Tasks {
		sizes = append(sizes, u.CheckSize("the input of a "+t.Kind, t.Input.Size()))
	}
	for _, s := range c.Steps {
		sizes = append(sizes, u.CheckSize("the result of step "+s.Name, s.Result.Size()))
	}
	for _, q := range c.Questions {
		sizes = append(sizes, u.CheckSize("the details of question "+q.Key, perdure.Payload{Bytes: q.Details, Blob: q.DetailsBlob}.Size()))
	}
	if c.Checkpoint != nil {
		sizes = append(sizes, u.CheckSize("the checkpoint's state", c.Checkpoint.State.Size()))
	}
	return cmp.Or(sizes...)
}

func (u *Uploads) putChunk(ctx context.Context, org string, owner perdure.BlobOwner, ref perdure.BlobRef, at int64, chunk []byte) (perdure.Hash, error) {
	value, err := u.one(ctx, store.Command{
		Name: "blob", Lane: store.LaneChunks, Org: org, Execution: owner.ExecutionID, Bytes: len(chunk),
		Needs:  func(x *perdure.Execution) store.Needs { return rules.ChunkNeeds(x, owner, ref.ID) },
		Decide: func(s *store.State) (*store.Changes, error) { return rules.AppendChunk(s, owner, ref, at, chunk) },
	})
	if err != nil {
		return perdure.Hash{}, err
	}
	return value.(perdure.Hash), nil
}
