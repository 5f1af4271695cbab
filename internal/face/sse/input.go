package sse

import (
	"context"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/operation"
	"github.com/perdure/perdure/internal/face/record"
)

// asEventStream documents an operation's response as an event stream in the OpenAPI document.
func asEventStream(op *operation.Operation) {
	op.Responses["200"] = &huma.Response{
		Description: "Events with id (cursor), event and data; ping every 15 s; end before the stream closes.",
		Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: "string"}}},
	}
	op.Responses["204"] = &huma.Response{Description: "The log has ended and the position is its end."}
}

// streamInput contains the parameters that select the position at which a stream starts. The header
// Last-Event-ID takes precedence over the parameter `after`, which takes precedence over after_seq.
type streamInput struct {
	operation.IDInput
	LastEventID string `header:"Last-Event-ID" doc:"The id of the last event received; a browser sends it by itself."`
	After       string `query:"after" doc:"A cursor."`
	AfterSeq    string `query:"after_seq" doc:"All events after this seq, and the blocks up to it that are open or were closed after it, whole."`
	Types       string `query:"types" doc:"Only events of these types, separated by commas; of snapshots, those of blocks of these types. prevSeq tells what was left out."`
	Render      string `query:"render" enum:"html" doc:"html shows text as sanitised HTML: events html in place of token."`
}

func (s *server) streamAgent(ctx context.Context, in *streamInput) (*huma.StreamResponse, error) {
	return s.open(ctx, in, view{keep: agentEvents, html: in.Render == "html"})
}

func (s *server) streamAll(ctx context.Context, in *streamInput) (*huma.StreamResponse, error) {
	return s.open(ctx, in, view{html: in.Render == "html"})
}

// narrow returns a filter of event types. The filter accepts those types that the client has
// requested and that the filter `keep` accepts. If the client has requested no types, narrow
// returns `keep` itself.
func (in *streamInput) narrow(keep func(perdure.EventType) bool) (func(perdure.EventType) bool, error) {
	if in.Types == "" {
		return keep, nil
	}
	wanted := map[perdure.EventType]bool{}
	for name := range strings.SplitSeq(in.Types, ",") {
		t := perdure.EventType(strings.TrimSpace(name))
		if !slices.Contains(perdure.EventTypes, t) {
			return nil, perdure.FieldErrorf("types", "%q is no type of event; there are %v", name, perdure.EventTypes)
		}
		wanted[t] = true
	}
	return func(t perdure.EventType) bool { return wanted[t] && (keep == nil || keep(t)) }, nil
}

// open checks the request and starts a stream. If the check fails, the response is an ordinary
// error instead of a stream.
func (s *server) open(ctx context.Context, in *streamInput, v view) (*huma.StreamResponse, error) {
	x, err := s.Execution(ctx, in.Org, in.ID)
	if err != nil {
		return nil, err
	}
	if v.keep, err = in.narrow(v.keep); err != nil {
		return nil, err
	}
	from, field, err := in.from()
	if err != nil {
		return nil, err
	}
	end, err := s.Log.AtEnd(ctx, x.ID, from)
	if err != nil {
		return nil, record.CursorError(err, field)
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		if end {
			ctx.SetStatus(204)
			return
		}
		leave, p := s.Admit(front.CallerOf(ctx.Context()), front.TransportSSE)
		if p != nil {
			operation.Refuse(ctx, p)
			return
		}
		s.stream(ctx, x.ID, from, v, leave)
	}}, nil
}
