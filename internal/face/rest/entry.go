package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/operation"
)

type entryInput struct {
	operation.IDInput
	EntryID string `path:"entryId" doc:"The entry's id, a UUID."`
}

func asEntry(op *operation.Operation) {
	op.Responses["200"] = &huma.Response{
		Description: "The entry. A large content that cannot be read to its end is cut off.",
		Content:     map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Ref: operation.SchemaPrefix + "Entry"}}},
	}
}

// getEntry responds with an entry and its whole content. It sends a large content in pieces, as it
// reads them from the store.
func (s *server) getEntry(ctx context.Context, in *entryInput) (*huma.StreamResponse, error) {
	x, err := s.execution(ctx, in.IDInput)
	if err != nil {
		return nil, err
	}
	id, err := idOf(x.ID, "entry", in.EntryID)
	if err != nil {
		return nil, err
	}
	e, err := s.read().Entry(ctx, x.ID, id)
	if err != nil {
		return nil, err
	}
	content, err := s.wholeContent(ctx, x, e)
	if err != nil {
		return nil, err
	}
	before, after, err := around(*e)
	if err != nil {
		_ = content.Close() // the earlier error is returned
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer content.Close()
		s.pass(hc, io.MultiReader(bytes.NewReader(before), content, bytes.NewReader(after)))
	}}, nil
}

// around returns the JSON of an entry without the value of the content, in two parts: the JSON
// before that value, and the JSON after it.
func around(e perdure.Entry) (before, after []byte, err error) {
	var raw bytes.Buffer
	out := json.NewEncoder(&raw)
	out.SetEscapeHTML(false)
	e.Content = nil
	if err := out.Encode(e); err != nil {
		return nil, nil, &perdure.Error{Code: perdure.Internal, Message: "entry " + e.ID.String() + " does not encode", Err: err}
	}
	// The first occurrence of `member` belongs to the entry itself: the JSON before it has only ids
	// and names, and these cannot contain `member`, because their quotes are escaped.
	const member = `"content":`
	before, after, _ = bytes.Cut(raw.Bytes(), []byte(member+"null"))
	return append(bytes.Clone(before), member...), after, nil
}

// wholeContent opens an entry's content. It moves metadata from the stored content to the entry. If
// only the execution's worker stores the content, wholeContent requests the content from that
// worker. If the worker is disconnected, the result is the JSON text "worker", as in lists of
// entries.
func (s *server) wholeContent(ctx context.Context, x *perdure.Execution, e *perdure.Entry) (io.ReadCloser, error) {
	if e.Blob != nil && e.Blob.Length > perdure.ShownLimit {
		content, err := s.Engine.Homes().OpenContent(ctx, x, *e.Blob)
		if err != nil {
			return nil, err
		}
		if content != nil {
			return unfolded(x, e, content)
		}
	}
	one := []perdure.Entry{*e}
	if err := s.showEntries(ctx, x, one); err != nil {
		return nil, err
	}
	*e = one[0]
	if e.Content == nil {
		e.Content = json.RawMessage("null")
	}
	if !json.Valid(e.Content) {
		return nil, perdure.Errorf(perdure.Internal, "the content of entry %s is no JSON", e.ID)
	}
	return io.NopCloser(bytes.NewReader(e.Content)), nil
}

// unfolded returns the content of an entry without the metadata, which it moves to the entry. The
// stored content contains metadata only if the entry was written while the execution was LOCAL.
func unfolded(x *perdure.Execution, e *perdure.Entry, content io.ReadCloser) (io.ReadCloser, error) {
	if !folded(x, e.Blob) {
		return content, nil
	}
	rest, err := e.ExtractMetadataFrom(content)
	if err != nil {
		_ = content.Close() // the error of UnfoldFrom is returned
		return nil, err
	}
	return readCloser{rest, content}, nil
}

// readCloser joins a Reader with the Closer of the stream that this Reader reads from.
type readCloser struct {
	io.Reader
	io.Closer
}

// pass sends the bytes of `answer` as the response body, piece by piece as it reads them. If a read
// fails, pass resets the connection.
func (s *server) pass(hc huma.Context, answer io.Reader) {
	r, w := humago.Unwrap(hc)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	out := deadlineWriter{w: w, c: http.NewResponseController(w), timeout: s.WriteTimeout}
	n, err := io.CopyBuffer(out, struct{ io.Reader }{answer}, make([]byte, perdure.BlobChunk))
	if err != nil {
		s.Lines(r.Context()).WarnContext(r.Context(), "an entry was cut off", slog.Int64("bytes", n), slog.Any("cause", err))
		panic(http.ErrAbortHandler)
	}
}
