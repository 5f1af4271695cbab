package questions

import (
	"context"
	"crypto/sha256"
	"io"

	"github.com/perdure/perdure"
)

// LargeDetails returns the reference to the details of a question, if they are over
// perdure.InlineLimit and therefore stored as a separate content. It returns nil for smaller
// details, and for details that a voter has changed.
func LargeDetails(q *perdure.Question) *perdure.BlobRef {
	if q.Edited() {
		return nil
	}
	return q.DetailsBlob
}

// OpenLargeDetails returns a reader of the details to which LargeDetails refers; that reference
// must not be nil. If the bytes do not match the hash of the reference, the reader returns an error
// instead of io.EOF. Errors: those of the store; unavailable if the details are on a worker that is
// not connected.
func (s *Questions) OpenLargeDetails(ctx context.Context, q *perdure.Question) (io.ReadCloser, error) {
	if q.OnWorker() {
		return nil, detailsAway(q)
	}
	x, err := s.refs.Execution(ctx, q.Org, q.ExecutionID)
	if err != nil {
		return nil, err
	}
	content, err := s.homes.OpenContent(ctx, x, *q.DetailsBlob)
	if content == nil && err == nil {
		content, err = s.homes.Fetch(ctx, x, *q.DetailsBlob)
	}
	if perdure.IsCode(err, perdure.Unavailable) {
		err = detailsAway(q)
	}
	return content, err
}

// wholeDetails returns the bytes of the details to which LargeDetails refers. Errors: as for
// OpenLargeDetails.
func (s *Questions) wholeDetails(ctx context.Context, q *perdure.Question) ([]byte, error) {
	content, err := s.OpenLargeDetails(ctx, q)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	return io.ReadAll(content)
}

// largeHashes reads the details to which LargeDetails refers. It returns two hashes: `whole`, their
// DetailsHash, and `bare`, the SHA-256 of the bytes alone. The details need not fit in memory.
// Errors: those of the read; invalid_argument if the details are not JSON.
func (s *Questions) largeHashes(ctx context.Context, q *perdure.Question) (whole, bare perdure.Hash, err error) {
	content, err := s.OpenLargeDetails(ctx, q)
	if err != nil {
		return whole, bare, err
	}
	defer content.Close()
	w, b := sha256.New(), sha256.New()
	w.Write(perdure.DetailsPrefix(q.Kind, q.Subject))
	hashed := io.TeeReader(content, io.MultiWriter(w, b))
	if err := perdure.CheckDocument("details", hashed, perdure.DocumentRules{Workers: true}); err != nil {
		return whole, bare, err
	}
	_, err = io.Copy(io.Discard, hashed)
	return perdure.Hash(w.Sum(nil)), perdure.Hash(b.Sum(nil)), err
}
