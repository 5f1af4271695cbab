package remote

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/api/perdure/v1/pbconv"
)

// Entries implements perdure.Dispatch. It has only one message of the stream in memory at a time,
// and does not retry. After an error, the caller can set q.After to the last entry that it got, and
// call Entries again.
func (c *Client) Entries(ctx context.Context, q perdure.EntryQuery) iter.Seq2[perdure.Entry, error] {
	return func(yield func(perdure.Entry, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		m := pbconv.EntryQueryToProto(q)
		m.Batches = true
		in, err := c.agents.GetEntries(ctx, m)
		for err == nil {
			var batch []*perdurev1.Entry
			if batch, err = nextEntries(in); err != nil {
				break
			}
			for _, m := range batch {
				var entry perdure.Entry
				if entry, err = readEntry(m, q.ExecutionID); err != nil {
					break
				}
				if !yield(entry, nil) {
					return
				}
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(perdure.Entry{}, c.fail(ctx, err))
		}
	}
}

// nextEntries reads the next message of the stream, and downloads the contents of its entries. The
// message has several entries, or one if the server is older. At the end of the stream, the error
// is io.EOF.
func nextEntries(in perdurev1.AgentDispatch_GetEntriesClient) ([]*perdurev1.Entry, error) {
	head, err := in.Recv()
	if err != nil {
		return nil, err
	}
	batch := head.GetBatch().GetEntries()
	if head.GetBatch() == nil {
		batch = []*perdurev1.Entry{head.GetEntry()}
	}
	for _, m := range batch {
		if err := follow(in, m.GetContent()); err != nil {
			return nil, err
		}
	}
	return batch, nil
}

// readEntry converts the message m to an entry. If the entry was stored in mode LOCAL, its content includes
// the metadata, and readEntry separates the two.
func readEntry(m *perdurev1.Entry, execution uuid.UUID) (perdure.Entry, error) {
	entry, err := pbconv.EntryFromProto(m)
	if err == nil && entry.Content != nil && entry.Blob != nil && entry.Blob.ID == perdure.ContentID(execution, entry.Blob.SHA256) {
		entry.ExtractMetadata()
	}
	return entry, err
}
