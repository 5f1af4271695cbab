package rest

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/homes"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/operation"
)

// contentRoutes registers the operations on contents, and the promotion of a LOCAL execution.
func (s *server) contentRoutes() {
	g := operation.Group{API: s.API, Access: front.Client, Tag: "Executions", Compress: true}
	const one = "/agent-executions/{id}"
	operation.Get(g, one+"/content/{sha256}", "getContent",
		"Get a content that was left out, by its hash; of a LOCAL execution from its worker (503 while that is away)", s.content, asText)
	operation.On(g, http.MethodPost, one+"/promote", "promoteExecution",
		"Copy a LOCAL execution from its worker and make it REMOTE, while it waits for a signal; called again, it goes on with what is missing", s.promote)
}

func asText(op *operation.Operation) {
	op.Responses["200"] = &huma.Response{
		Description: "The content's bytes: JSON, or the text of a block. A content that turns out to be another is cut off before its end.",
		Content:     map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: "string"}}},
	}
}

func (s *server) promote(ctx context.Context, in *operation.IDInput) (*operation.Body[*perdure.Execution], error) {
	id, err := in.Of("execution")
	if err != nil {
		return nil, err
	}
	x, err := s.Engine.Promote(ctx, in.Org, id)
	if err != nil {
		return nil, err
	}
	return operation.BodyOf(x), s.showExecution(ctx, x)
}

type contentInput struct {
	operation.IDInput
	SHA256 string `path:"sha256" doc:"The SHA-256 of the content, in hexadecimal."`
}

func (s *server) content(ctx context.Context, in *contentInput) (*huma.StreamResponse, error) {
	id, err := in.Of("execution")
	if err != nil {
		return nil, err
	}
	var sum perdure.Hash
	if err := sum.UnmarshalText([]byte(in.SHA256)); err != nil {
		return nil, perdure.Errorf(perdure.NotFound, "execution %s has no content %q; contents are named by their SHA-256", id, in.SHA256)
	}
	content, length, err := s.Engine.Homes().Content(ctx, in.Org, id, sum)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer content.Close()
		s.send(hc, content, length)
	}}, nil
}

// send sends a content as the response body. If it does not have exactly `length` bytes, send
// resets the connection, so that the client does not take the received bytes for the complete
// content.
func (s *server) send(hc huma.Context, content io.Reader, length int64) {
	r, w := humago.Unwrap(hc)
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Length", strconv.FormatInt(length, 10))
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	out := deadlineWriter{w: w, c: http.NewResponseController(w), timeout: s.WriteTimeout}
	n, err := io.CopyBuffer(out, struct{ io.Reader }{content}, make([]byte, perdure.BlobChunk))
	if err != nil || n != length {
		s.Lines(r.Context()).WarnContext(r.Context(), "a content was cut off", slog.Int64("bytes", n), slog.Int64("of", length), slog.Any("cause", err))
		panic(http.ErrAbortHandler)
	}
}

// deadlineWriter is a writer that sets a new write deadline before each write.
type deadlineWriter struct {
	w       io.Writer
	c       *http.ResponseController
	timeout time.Duration
}

func (p deadlineWriter) Write(b []byte) (int, error) {
	_ = p.c.SetWriteDeadline(time.Now().Add(p.timeout)) // if this fails, the write may block forever
	return p.w.Write(b)
}

// The functions show... (showExecution, showEntries and so on) complete objects before they are
// sent. They load contents that are not in the objects' rows. If a content is not loaded, the
// object gets its length and hash instead.

func shown(place *json.RawMessage, ref *perdure.BlobRef, bytes *int64, sum *string) homes.Field {
	return homes.Field{Place: place, Ref: ref, Bytes: bytes, Sum: sum}
}

func (s *server) showExecution(ctx context.Context, x *perdure.Execution) error {
	return s.Engine.Homes().Fill(ctx, x, []homes.Field{
		shown(&x.Input, x.InputBlob, &x.InputBytes, &x.InputSHA256),
		shown(&x.Output, x.OutputBlob, &x.OutputBytes, &x.OutputSHA256),
	})
}

func (s *server) showEntries(ctx context.Context, x *perdure.Execution, entries []perdure.Entry) error {
	all := make([]homes.Field, len(entries))
	for i := range entries {
		e := &entries[i]
		all[i] = shown(&e.Content, e.Blob, &e.ContentBytes, &e.ContentSHA256)
	}
	if err := s.Engine.Homes().Fill(ctx, x, all); err != nil {
		return err
	}
	for i := range entries {
		if e := &entries[i]; e.Blob != nil && folded(x, e.Blob) {
			e.ExtractMetadata()
		}
	}
	return nil
}

// folded reports whether a blob was written while its execution was LOCAL. Such a blob of an entry
// contains the entry's metadata together with the content.
func folded(x *perdure.Execution, ref *perdure.BlobRef) bool {
	return ref.ID == perdure.ContentID(x.ID, ref.SHA256)
}

func (s *server) showCheckpoints(ctx context.Context, x *perdure.Execution, checkpoints ...*perdure.Checkpoint) error {
	all := make([]homes.Field, len(checkpoints))
	for i, c := range checkpoints {
		all[i] = shown(&c.State, c.Blob, &c.StateBytes, &c.StateSHA256)
	}
	return s.Engine.Homes().Fill(ctx, x, all)
}

func (s *server) showTasks(ctx context.Context, x *perdure.Execution, tasks []*perdure.Task) error {
	var all []homes.Field
	for _, t := range tasks {
		t.Instance = t.Options.Instance
		all = append(all, shown(&t.Input, t.InputBlob, &t.InputBytes, &t.InputSHA256), shown(&t.Result, t.ResultBlob, &t.ResultBytes, &t.ResultSHA256))
	}
	return s.Engine.Homes().Fill(ctx, x, all)
}

// showSignals completes signals before they are sent. It does not show the values of signals to
// LOCAL executions: the server stores these values only until the signals are consumed.
func (s *server) showSignals(ctx context.Context, x *perdure.Execution, signals []*perdure.Signal) error {
	all := make([]homes.Field, len(signals))
	for i, signal := range signals {
		if x.PersistenceMode == perdure.Local {
			signal.Value, signal.Blob = perdure.OnWorker, nil
		}
		all[i] = shown(&signal.Value, signal.Blob, &signal.ValueBytes, &signal.ValueSHA256)
	}
	return s.Engine.Homes().Fill(ctx, x, all)
}
