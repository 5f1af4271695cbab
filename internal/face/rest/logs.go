package rest

import (
	"context"
	"encoding/json"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/operation"
	"github.com/perdure/perdure/internal/face/record"
	eventlog "github.com/perdure/perdure/internal/log"
	"github.com/perdure/perdure/internal/store"
)

// logRoutes registers the operations that read an execution's log.
func (s *server) logRoutes() {
	g := operation.Group{API: s.API, Access: front.Client, Tag: "Executions", Compress: true}
	const one = "/agent-executions/{id}"
	operation.Get(g, one+"/events", "listEvents", "Read a page of the log", s.listEvents)
	operation.Get(g, one+"/snapshot", "getSnapshot", "Get the execution, its newest entries and open blocks, and the cursor at which they hold", s.snapshot)
}

type eventsInput struct {
	operation.IDInput
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"How many records at most."`
	After string `query:"after" doc:"A cursor; left out, the start of the log."`
}

type eventPage struct {
	Items      []record.Event      `json:"items" nullable:"false"`
	NextCursor string              `json:"nextCursor" doc:"The position after the items, also where there are none."`
	UpToDate   bool                `json:"upToDate" doc:"There was nothing after nextCursor."`
	Reset      *eventlog.ResetData `json:"reset,omitempty" doc:"The cursor did not fit, or what follows it is no longer kept; drop what you have, the items begin at the first event."`
}

func (s *server) listEvents(ctx context.Context, in *eventsInput) (*operation.Body[eventPage], error) {
	x, err := s.execution(ctx, in.IDInput)
	if err != nil {
		return nil, err
	}
	p, err := s.Log.Page(ctx, x.ID, in.After, in.Limit)
	if err != nil {
		return nil, record.CursorError(err, "after")
	}
	out := eventPage{Items: []record.Event{}, NextCursor: p.Next.String(), UpToDate: p.UpToDate, Reset: p.Reset}
	for _, i := range p.Items {
		out.Items = append(out.Items, record.Of(i))
	}
	return operation.BodyOf(out), nil
}

type snapshotInput struct {
	operation.IDInput
	Entries int `query:"entries" minimum:"0" maximum:"1000" default:"100" doc:"How many of the newest entries of the path; fewer if they are large."`
}

type snapshotBody struct {
	Execution     *perdure.Execution `json:"execution"`
	Entries       []perdure.Entry    `json:"entries" nullable:"false" doc:"The newest of the path, root to leaf."`
	EntriesBefore int                `json:"entriesBefore" doc:"How many entries of the path come before them."`
	OpenBlocks    []json.RawMessage  `json:"openBlocks" nullable:"false" doc:"As the data of the event snapshot."`
	Cursor        string             `json:"cursor" doc:"Where to go on reading the log."`
}

// snapshotTries is the maximum number of times that a snapshot is read. It is read again if an
// event was committed during the read.
const snapshotTries = 8

// snapshot returns the state of an execution at one position of its log. It reads all parts again
// until no event was committed during the read. If events were committed during each of
// snapshotTries reads, the position in the snapshot is that before the last read. A reader that
// continues from there misses no event, but may receive events that the snapshot already includes.
func (s *server) snapshot(ctx context.Context, in *snapshotInput) (*operation.Body[snapshotBody], error) {
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
		return operation.BodyOf(*out), nil
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

// newest returns the newest entries of the conversation, at most limit. It returns fewer if they do
// not fit on a page.
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
