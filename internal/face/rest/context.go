package rest

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/face/operation"
	"github.com/perdure/perdure/internal/store"
)

type compactInput struct {
	operation.IDInput
	IdempotencyKey string `header:"Idempotency-Key" maxLength:"255" doc:"A repeat with the same key and body within 24 hours sends no second signal."`
	Body           *perdure.CompactionRequest
}

// compact asks the agent of an execution to compact its conversation.
func (s *server) compact(ctx context.Context, in *compactInput) (*operation.Body[engine.SignalReply], error) {
	id, err := in.Of("execution")
	if err != nil {
		return nil, err
	}
	r := engine.CompactRequest{IdempotencyKey: in.IdempotencyKey}
	if in.Body != nil {
		r.CompactionRequest = *in.Body
	}
	reply, err := s.Engine.Compact(ctx, in.Org, id, r)
	if err != nil {
		return nil, err
	}
	return operation.BodyOf(reply), nil
}

// contextPage is a page of the context of an execution, which is the list of the messages that the
// next model call will send.
type contextPage struct {
	LeafEntryID *uuid.UUID         `json:"leafEntryId" doc:"The end of the path that the context is built from; null if there is no entry yet."`
	Compaction  *contextCompaction `json:"compaction" doc:"The newest compaction of the path, or null."`
	Entries     []contextEntry     `json:"entries" nullable:"false" doc:"In the order in which a model sees them."`
	LeftOut     []perdure.LeftOut  `json:"leftOut" nullable:"false" doc:"The parts of the path that a model does not see, oldest first."`
	NextCursor  *string            `json:"nextCursor" doc:"Where the next page begins; null at the end. The pages are of one path, even if the execution grows meanwhile."`
}

// contextCompaction is a compaction entry and its decoded metadata.
type contextCompaction struct {
	Entry  perdure.Entry            `json:"entry"`
	Record perdure.CompactionRecord `json:"record"`
}

// contextEntry is an entry of the context, in the form that the model sees.
type contextEntry struct {
	EntryID     uuid.UUID     `json:"entryId"`
	Rewritten   bool          `json:"rewritten" doc:"The model that created the message saw something else before it. Its thinking is left out."`
	ResultBytes int           `json:"resultBytes" doc:"A model sees the head and the tail of tool results with more bytes of text; 0 is no limit."`
	Entry       perdure.Entry `json:"entry"`
}

// context responds with a page of the messages that the next model call will send.
func (s *server) context(ctx context.Context, in *PartsInput) (*operation.Body[contextPage], error) {
	x, err := s.execution(ctx, in.IDInput)
	if err != nil {
		return nil, err
	}
	leaf, after, err := contextCursor(x, in.Cursor)
	if err != nil {
		return nil, err
	}
	page := contextPage{LeafEntryID: leaf, Entries: []contextEntry{}, LeftOut: []perdure.LeftOut{}}
	if leaf == nil {
		return operation.BodyOf(page), nil
	}
	seen, err := s.contextOf(ctx, x, *leaf, in.Cursor != "")
	if err != nil {
		return nil, err
	}
	from := 0
	if after != nil {
		from = 1 + slices.IndexFunc(seen.Entries, func(e perdure.ContextEntry) bool { return e.Entry.ID == *after })
		if from == 0 {
			return nil, noCursor()
		}
	}
	if seen.Compaction != nil {
		if page.Compaction, err = s.shownCompaction(ctx, x, *seen.Compaction); err != nil {
			return nil, err
		}
	}
	page.LeftOut = append(page.LeftOut, seen.LeftOut...)
	left := seen.Entries[from:]
	if page.Entries, err = s.contextEntries(ctx, x, left[:min(len(left), in.Limit)]); err != nil {
		return nil, err
	}
	if n := len(page.Entries); n < len(left) {
		next := leaf.String() + cursorSeparator + page.Entries[n-1].EntryID.String()
		page.NextCursor = &next
	}
	return operation.BodyOf(page), nil
}

// cursorSeparator separates the two parts of a cursor: the id of the leaf, and the id of the last
// entry on the previous page.
const cursorSeparator = "."

func noCursor() error { return perdure.FieldErrorf("cursor", "is not one of this list") }

// contextCursor parses a cursor of the context. It returns the leaf of the conversation, and the
// last entry of the previous page. Without a cursor, the leaf is the current one.
func contextCursor(x *perdure.Execution, cursor string) (leaf, after *uuid.UUID, err error) {
	if cursor == "" {
		return x.Leaf, nil, nil
	}
	first, second, _ := strings.Cut(cursor, cursorSeparator)
	path, err1 := uuid.Parse(first)
	last, err2 := uuid.Parse(second)
	if err1 != nil || err2 != nil {
		return nil, nil, noCursor()
	}
	return &path, &last, nil
}

// contextOf returns the entries of the context of the conversation that ends at the leaf, without
// their contents. Only the newest compaction has metadata.
func (s *server) contextOf(ctx context.Context, x *perdure.Execution, leaf uuid.UUID, continued bool) (perdure.Context, error) {
	var path []perdure.Entry
	newest := -1
	for e, err := range s.read().ContextPath(ctx, x.ID, leaf, nil, true) {
		if perdure.IsCode(err, perdure.NotFound) && continued {
			return perdure.Context{}, noCursor()
		}
		if err != nil {
			return perdure.Context{}, err
		}
		outline := perdure.Entry{ID: e.ID, ParentID: e.ParentID, Type: e.Type, Role: e.Role}
		if e.Type == perdure.EntryCompaction {
			if newest >= 0 {
				path[newest].Metadata, path[newest].Blob = nil, nil
			}
			newest = len(path)
			outline.Metadata, outline.Blob = e.Metadata, e.Blob
		}
		path = append(path, outline)
	}
	if newest >= 0 {
		if err := s.fillRecord(ctx, x, &path[newest]); err != nil {
			return perdure.Context{}, err
		}
	}
	seen, err := perdure.ContextOf(path)
	if err == nil && seen.Compaction != nil && len(seen.LeftOut) == 0 { // path may begin at the first entry that the compaction keeps
		seen.LeftOut, err = s.read().LeftOut(ctx, x.ID, leaf)
	}
	return seen, err
}

// fillRecord loads the metadata of a compaction from the execution's worker, if only the worker
// stores it. Errors: unavailable.
func (s *server) fillRecord(ctx context.Context, x *perdure.Execution, e *perdure.Entry) error {
	if e.Blob == nil || !folded(x, e.Blob) {
		return nil
	}
	one := []perdure.Entry{*e}
	if err := s.showEntries(ctx, x, one); err != nil {
		return err
	}
	if len(one[0].Metadata) == 0 || string(one[0].Metadata) == "null" {
		return perdure.Errorf(perdure.Unavailable, "the context of execution %s is on its worker, which is away", x.ID)
	}
	e.Metadata = one[0].Metadata
	return nil
}

// shownCompaction returns a compaction entry with its summary, in the form that clients see.
func (s *server) shownCompaction(ctx context.Context, x *perdure.Execution, e perdure.Entry) (*contextCompaction, error) {
	record, err := e.Compaction()
	if err != nil {
		return nil, err
	}
	shown, err := s.entriesOf(ctx, x, []uuid.UUID{e.ID})
	if err != nil {
		return nil, err
	}
	return &contextCompaction{Entry: shown[0], Record: record}, nil
}

// contextEntries returns the entries of the next page of the context, with their contents. The size
// of the page is limited.
func (s *server) contextEntries(ctx context.Context, x *perdure.Execution, seen []perdure.ContextEntry) ([]contextEntry, error) {
	page := make([]contextEntry, 0, len(seen))
	ids := make([]uuid.UUID, len(seen))
	for i, e := range seen {
		ids[i] = e.Entry.ID
	}
	shown, err := s.entriesOf(ctx, x, ids)
	for i, e := range shown {
		page = append(page, contextEntry{EntryID: e.ID, Rewritten: seen[i].Rewritten, ResultBytes: seen[i].ResultBytes, Entry: e})
	}
	return page, err
}

// entriesOf reads entries by their ids, at most as many as the size limit of a page allows.
func (s *server) entriesOf(ctx context.Context, x *perdure.Execution, ids []uuid.UUID) ([]perdure.Entry, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := s.read().EntriesOf(ctx, x.ID, ids, 0)
	if err != nil {
		return nil, err
	}
	bytes := 0
	for i := range found {
		if bytes += store.Weight(found[i].Content, found[i].Blob); bytes > store.PageBytes && i > 0 {
			found = found[:i]
			break
		}
	}
	return found, s.showEntries(ctx, x, found)
}
