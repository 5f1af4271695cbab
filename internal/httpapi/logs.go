package httpapi

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/eventlog"
	"github.com/perdure/perdure/internal/store"
)

// logRoutes registers the ways to read an execution's log.
func (s *server) logRoutes() {
	const one = "/agent-executions/{id}"
	get(s, one+"/events", "listEvents", "Read a page of the log", s.listEvents)
	get(s, one+"/snapshot", "getSnapshot", "Get the execution, its newest entries and open blocks, and the cursor at which they hold", s.snapshot)
	get(s, one+"/stream", "streamAgent", "Follow the agent's events (SSE): all but task.* and terminal", s.streamAgent, asEventStream)
	get(s, one+"/stream/consolidated", "streamAll", "Follow every event (SSE)", s.streamAll, asEventStream)
}

type eventsInput struct {
	IDInput
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"How many records at most."`
	After string `query:"after" doc:"A cursor; left out, the start of the log."`
}

// event is a record as pages and streams show it.
type event struct {
	Cursor string            `json:"cursor"`
	Event  perdure.EventType `json:"event"`
	Data   json.RawMessage   `json:"data"`
}

type eventPage struct {
	Items      []event             `json:"items" nullable:"false"`
	NextCursor string              `json:"nextCursor" doc:"The position after the items, also where there are none."`
	UpToDate   bool                `json:"upToDate" doc:"There was nothing after nextCursor."`
	Reset      *eventlog.ResetData `json:"reset,omitempty" doc:"The cursor did not fit, or what follows it is no longer kept; drop what you have, the items begin at the first event."`
}

func (s *server) listEvents(ctx context.Context, in *eventsInput) (*body[eventPage], error) {
	x, err := s.execution(ctx, in.IDInput)
	if err != nil {
		return nil, err
	}
	p, err := s.Log.Page(ctx, x.ID, in.After, in.Limit)
	if err != nil {
		return nil, renamed(err, "after")
	}
	out := eventPage{Items: []event{}, NextCursor: p.Next.String(), UpToDate: p.UpToDate, Reset: p.Reset}
	for _, i := range p.Items {
		out.Items = append(out.Items, event{Cursor: i.Cursor.String(), Event: i.Event, Data: i.Data})
	}
	return &body[eventPage]{out}, nil
}

// renamed returns err with the field name that the request used for the cursor.
func renamed(err error, field string) error {
	if perdure.IsCode(err, perdure.InvalidArgument) {
		return perdure.FieldErrorf(field, "is not a cursor of this server; leave it out to read from the start")
	}
	return err
}

type snapshotInput struct {
	IDInput
	Entries int `query:"entries" minimum:"0" maximum:"1000" default:"100" doc:"How many of the newest entries of the path; fewer if they are large."`
}

type snapshotBody struct {
	Execution     *perdure.Execution `json:"execution"`
	Entries       []perdure.Entry    `json:"entries" nullable:"false" doc:"The newest of the path, root to leaf."`
	EntriesBefore int                `json:"entriesBefore" doc:"How many entries of the path come before them."`
	OpenBlocks    []json.RawMessage  `json:"openBlocks" nullable:"false" doc:"As the data of the event snapshot."`
	Cursor        string             `json:"cursor" doc:"Where to go on reading the log."`
}

// snapshotTries is how often a snapshot is read until no event was committed during the read.
const snapshotTries = 8

// snapshot reads until the log's seq is the same before and after, so that all parts are from one
// position. If events keep coming, it returns the earlier position. A reader that continues there
// may receive events that the snapshot includes, but misses none.
func (s *server) snapshot(ctx context.Context, in *snapshotInput) (*body[snapshotBody], error) {
	x, err := s.execution(ctx, in.IDInput)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		before, err := s.read().LogHead(ctx, x.ID)
		if err != nil {
			return nil, err
		}
		out, err := s.snapshotParts(ctx, in)
		if err != nil {
			return nil, err
		}
		after, err := s.read().LogHead(ctx, x.ID)
		if err != nil {
			return nil, err
		}
		if after.LastSeq != before.LastSeq && try < snapshotTries {
			continue
		}
		blocks, at, err := s.Log.OpenBlocks(ctx, x.ID, before.LastSeq)
		if err != nil {
			return nil, err
		}
		out.OpenBlocks, out.Cursor = blocks, at.String()
		return &body[snapshotBody]{*out}, nil
	}
}

func (s *server) snapshotParts(ctx context.Context, in *snapshotInput) (*snapshotBody, error) {
	x, err := s.execution(ctx, in.IDInput)
	if err != nil {
		return nil, err
	}
	if err := s.showExecution(ctx, x); err != nil {
		return nil, err
	}
	out := &snapshotBody{Execution: x, Entries: []perdure.Entry{}, OpenBlocks: []json.RawMessage{}}
	if x.Leaf == nil {
		return out, nil
	}
	if out.Entries, err = s.newest(ctx, x, in.Entries); err != nil {
		return nil, err
	}
	if err := s.showEntries(ctx, x, out.Entries); err != nil {
		return nil, err
	}
	n, err := s.read().PathLength(ctx, x.ID, *x.Leaf)
	out.EntriesBefore = int(n) - len(out.Entries)
	return out, err
}

// newest returns the newest entries of the path, at most limit, and fewer if they exceed a page.
func (s *server) newest(ctx context.Context, x *perdure.Execution, limit int) ([]perdure.Entry, error) {
	entries, bytes := []perdure.Entry{}, 0
	if limit == 0 {
		return entries, nil
	}
	for e, err := range s.read().Path(ctx, x.ID, *x.Leaf, nil, limit, true) {
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
		for bytes += store.Weight(e.Content, e.Blob); bytes > store.PageBytes; {
			bytes -= store.Weight(entries[0].Content, entries[0].Blob)
			entries = entries[1:]
		}
	}
	return entries, nil
}

// asEventStream describes an event stream in the OpenAPI document.
func asEventStream(op *huma.Operation) {
	op.Responses["200"] = &huma.Response{
		Description: "Events with id (cursor), event and data; ping every 15 s; end before the stream closes.",
		Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: "string"}}},
	}
	op.Responses["204"] = &huma.Response{Description: "The log has ended and the position is its end."}
}

// streamInput selects the start of a stream. Last-Event-ID takes precedence over after, and after
// over after_seq.
type streamInput struct {
	IDInput
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

// narrow returns a filter for the requested types among those that keep accepts.
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

// open checks the request before the stream starts, and returns errors as a normal response.
func (s *server) open(ctx context.Context, in *streamInput, v view) (*huma.StreamResponse, error) {
	x, err := s.execution(ctx, in.IDInput)
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
		return nil, renamed(err, field)
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		if end {
			ctx.SetStatus(204)
			return
		}
		leave, p := s.admit(callerOf(ctx.Context()), transportSSE)
		if p != nil {
			s.refuse(ctx, p)
			return
		}
		s.stream(ctx, x.ID, from, v, leave)
	}}, nil
}
