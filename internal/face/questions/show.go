package questions

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/perdure/perdure"
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

// find returns a question with the title of its execution and its details, which may be nil. Details
// that only a worker has, which is not connected, are the error unavailable beside the question.
func (s *server) find(ctx context.Context, in operation.IDInput) (*perdure.Question, []byte, error) {
	id, err := idOf(in)
	if err != nil {
		return nil, nil, err
	}
	q, err := s.Engine.Read().Question(ctx, in.Org, id)
	if err != nil {
		return nil, nil, err
	}
	if err := s.show(ctx, in.Org, q); err != nil {
		return nil, nil, err
	}
	details, err := s.Engine.QuestionDetails(ctx, q)
	if perdure.IsCode(err, perdure.NotFound) {
		return q, nil, nil // a worker has named a call that does not exist; the question cannot be approved
	}
	return q, details, err
}

// get returns a question. Its details are not encoded again, because the hash is of their bytes.
func (s *server) get(ctx context.Context, in *operation.IDInput) (*huma.StreamResponse, error) {
	q, details, err := s.find(ctx, *in)
	if q != nil && q.OnWorker() {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	q.Details = nil
	if len(details) > perdure.ShownLimit || !json.Valid(details) {
		q.DetailsBytes, details = int64(len(details)), nil
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
	q, details, err := s.find(ctx, *in)
	if err != nil {
		return nil, err
	}
	if details == nil {
		return nil, perdure.Errorf(perdure.NotFound, "question %s has no details", q.ID)
	}
	sum := sha256.Sum256(details)
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		write(hc, details, http.Header{"Etag": {`"` + hex.EncodeToString(sum[:]) + `"`}})
	}}, nil
}

// write sends a body of JSON.
func write(hc huma.Context, body []byte, headers http.Header) {
	r, w := humago.Unwrap(hc)
	for name, values := range headers {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // fails only if the client has disconnected
	}
}
