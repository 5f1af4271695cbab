package questions

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/operation"
	"github.com/perdure/perdure/internal/face/record"
	"github.com/perdure/perdure/internal/questionfeed"
	"github.com/perdure/perdure/internal/store"
)

// streamed is the maximum number of open questions that a stream sends when it starts.
const streamed = 200

func asStream(op *operation.Operation) {
	op.Responses["200"] = &huma.Response{
		Description: "Events without ids, because the stream shows the state and not a log: questions {items, open, openMore?} at the beginning, " +
			"and again if the reader was too slow; question, a whole question, for each that has changed; ping.",
		Content: map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: "string"}}},
	}
}

// openingEvent is the data of the first event of a stream, which contains the open questions.
type openingEvent struct {
	Items    []*perdure.Question `json:"items"`
	Open     int                 `json:"open"`
	OpenMore bool                `json:"openMore,omitempty"`
}

func (s *server) stream(ctx context.Context, in *operation.OrgInput) (*huma.StreamResponse, error) {
	if err := checkQuery(front.QueryOf(ctx)); err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		leave, p := s.Admit(front.CallerOf(hc.Context()), front.TransportSSE)
		if p != nil {
			operation.Refuse(hc, p)
			return
		}
		defer leave()
		r, w := humago.Unwrap(hc)
		ctx, over := s.Supervise(hc.Context())
		defer over()
		out := newEventWriter(w, s.WriteTimeout)
		out.begin()
		if r.Method == http.MethodHead {
			return
		}
		reader := s.feeds.Read(in.Org)
		defer reader.Close()
		if err := s.follow(ctx, in.Org, reader, out); err != nil {
			panic(http.ErrAbortHandler) // the client reconnects
		}
	}}, nil
}

// follow sends the open questions, and then each change of a question. It ends only with an error,
// which it returns.
func (s *server) follow(ctx context.Context, org string, reader *questionfeed.Reader, out *eventWriter) error {
	if err := s.begin(ctx, org, reader, out); err != nil {
		return err
	}
	ping := time.NewTicker(s.PingEvery)
	defer ping.Stop()
	for {
		ids, lost, changed, err := reader.Changes()
		switch {
		case err != nil:
			return err
		case lost:
			if err := s.begin(ctx, org, reader, out); err != nil {
				return err
			}
			continue
		}
		for _, id := range ids {
			if err := s.change(ctx, org, id, out); err != nil {
				return err
			}
		}
		if len(ids) > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		case <-ping.C:
			if err := out.event("ping", []byte("{}")); err != nil {
				return err
			}
		}
	}
}

// begin sends the open questions in their current state.
func (s *server) begin(ctx context.Context, org string, reader *questionfeed.Reader, out *eventWriter) error {
	if err := reader.Reset(ctx); err != nil {
		return err
	}
	page, err := s.Engine.Read().Questions(ctx, org, store.QuestionFilter{Status: []perdure.QuestionStatus{perdure.QuestionOpen}, Limit: streamed})
	if err != nil {
		return err
	}
	if err := s.show(ctx, org, page.Items...); err != nil {
		return err
	}
	all := openingEvent{Items: page.Items}
	if all.Items == nil {
		all.Items = []*perdure.Question{}
	}
	if all.Open, all.OpenMore, err = s.open(ctx, org); err != nil {
		return err
	}
	return out.json("questions", all)
}

// change sends a question in its current state. If the question's execution was pruned, change
// sends nothing.
func (s *server) change(ctx context.Context, org string, id uuid.UUID, out *eventWriter) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	q, err := s.changed.Get(ctx, id, func(ctx context.Context) (*perdure.Question, error) {
		q, err := s.Engine.Read().Question(ctx, org, id)
		if err == nil {
			err = s.show(ctx, org, q)
		}
		return q, err
	})
	if perdure.IsCode(err, perdure.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return out.json("question", q)
}

// eventWriter writes server-sent events to a client. A write fails if the client does not read a
// piece of 64 KiB within the write timeout.
type eventWriter struct {
	w       http.ResponseWriter
	c       *http.ResponseController
	timeout time.Duration
}

func newEventWriter(w http.ResponseWriter, timeout time.Duration) *eventWriter {
	return &eventWriter{w, http.NewResponseController(w), timeout}
}

func (e *eventWriter) begin() {
	e.w.Header().Set("Content-Type", "text/event-stream")
	e.w.Header().Set("Cache-Control", "no-store")
	e.w.Header().Set("X-Accel-Buffering", "no")
	e.w.WriteHeader(http.StatusOK)
	_ = e.c.Flush() // if the reader has disconnected, the first write fails
}

func (e *eventWriter) json(name string, v any) error {
	data, err := record.JSON(v)
	if err != nil {
		return err
	}
	return e.event(name, data)
}

func (e *eventWriter) event(name string, data []byte) error {
	b := append([]byte("event: "+name+"\ndata: "), data...)
	b = append(b, "\n\n"...)
	for len(b) > 0 {
		piece := b[:min(len(b), front.PieceBytes)]
		_ = e.c.SetWriteDeadline(time.Now().Add(e.timeout)) // if this fails, the write may block forever
		if _, err := e.w.Write(piece); err != nil {
			return err
		}
		b = b[len(piece):]
	}
	return e.c.Flush()
}
