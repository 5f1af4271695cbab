package questions

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/questions"
	"github.com/perdure/perdure/internal/face/operation"
	"github.com/perdure/perdure/internal/face/record"
)

func asQuestion(op *operation.Operation) {
	op.Responses["200"] = &huma.Response{
		Description: "The question. Its details have the bytes that the hash is of; over 256 KiB they are left out, and detailsBytes has their size.",
		Content:     map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Ref: operation.SchemaPrefix + "Question"}}},
	}
}

func asDetails(op *operation.Operation) {
	op.Responses["200"] = &huma.Response{
		Description: "The details, byte by byte. ETag is the SHA-256 of the bytes. It is 404 if the question has no details.",
		Content:     map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{}}},
	}
}

// find returns a question and the title of its execution. Details that are stored outside the
// question's row are not loaded.
func (s *server) find(ctx context.Context, in operation.IDInput) (*perdure.Question, error) {
	id, err := idOf(in)
	if err != nil {
		return nil, err
	}
	q, err := s.Engine.Read().Question(ctx, in.Org, id)
	if err != nil {
		return nil, err
	}
	return q, s.show(ctx, in.Org, q)
}

// detailsOf returns the details of a question, or nil. Error: unavailable, if the details are
// stored on a worker that is not connected.
func (s *server) detailsOf(ctx context.Context, q *perdure.Question) ([]byte, error) {
	details, err := s.Engine.Questions.Details(ctx, q)
	if perdure.IsCode(err, perdure.NotFound) {
		return nil, nil // a worker has named a call that does not exist; such a question cannot be approved
	}
	return details, err
}

// get responds with a question. It sends the bytes of the details unchanged, because their hash was
// computed from these bytes.
func (s *server) get(ctx context.Context, in *operation.IDInput) (*huma.StreamResponse, error) {
	q, err := s.find(ctx, *in)
	if err != nil {
		return nil, err
	}
	var details []byte
	if ref := questions.LargeDetails(q); ref == nil || ref.Length <= perdure.ShownLimit {
		details, err = s.detailsOf(ctx, q)
	}
	if err != nil && !q.OnWorker() {
		return nil, err
	}
	q.Details = nil
	switch {
	case len(details) > perdure.ShownLimit || details != nil && !json.Valid(details):
		q.DetailsBytes, details = int64(len(details)), nil
	case details != nil:
		q.DetailsBytes = 0
	}
	raw, err := record.JSON(q)
	if err != nil {
		return nil, &perdure.Error{Code: perdure.Internal, Message: "question " + q.ID.String() + " does not encode", Err: err}
	}
	if details != nil {
		raw = bytes.Join([][]byte{[]byte(`{"details":`), details, []byte(`,`), raw[1:]}, nil)
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) { write(hc, append(raw, '\n'), nil) }}, nil
}

func (s *server) details(ctx context.Context, in *operation.IDInput) (*huma.StreamResponse, error) {
	q, err := s.find(ctx, *in)
	if err != nil {
		return nil, err
	}
	if ref := questions.LargeDetails(q); ref != nil {
		content, err := s.Engine.Questions.OpenLargeDetails(ctx, q)
		if err != nil {
			return nil, err
		}
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			defer content.Close()
			s.send(hc, content, ref)
		}}, nil
	}
	details, err := s.detailsOf(ctx, q)
	if err != nil {
		return nil, err
	}
	if details == nil {
		return nil, perdure.Errorf(perdure.NotFound, "question %s has no details", q.ID)
	}
	sum := perdure.Hash(sha256.Sum256(details))
	return &huma.StreamResponse{Body: func(hc huma.Context) { write(hc, details, etag(sum)) }}, nil
}

func etag(sum perdure.Hash) http.Header { return http.Header{"Etag": {`"` + sum.String() + `"`}} }

// send sends details while it reads them. If there are fewer or more bytes than `ref` says, send
// resets the connection, so that the client does not take the received bytes for the complete
// details.
func (s *server) send(hc huma.Context, content io.Reader, ref *perdure.BlobRef) {
	r, w := begin(hc, ref.Length, etag(ref.SHA256))
	if r.Method == http.MethodHead {
		return
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{content}, make([]byte, perdure.BlobChunk))
	if err != nil || n != ref.Length {
		s.Lines(r.Context()).WarnContext(r.Context(), "the details of a question were cut off", slog.Int64("bytes", n), slog.Int64("of", ref.Length), slog.Any("cause", err))
		panic(http.ErrAbortHandler)
	}
}

// begin sends the headers of a response with a JSON body.
func begin(hc huma.Context, length int64, headers http.Header) (*http.Request, http.ResponseWriter) {
	r, w := humago.Unwrap(hc)
	for name, values := range headers {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.FormatInt(length, 10))
	w.WriteHeader(http.StatusOK)
	return r, w
}

// write sends a response with a JSON body.
func write(hc huma.Context, body []byte, headers http.Header) {
	r, w := begin(hc, int64(len(body)), headers)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // fails only if the client has disconnected
	}
}
