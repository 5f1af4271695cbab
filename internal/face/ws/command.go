package ws

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/face/record"
	"github.com/perdure/perdure/internal/fair"
	eventlog "github.com/perdure/perdure/internal/log"
)

// command executes a message of the client. An error that does not end the socket is sent to the
// client. An error that ends the socket is returned.
func (k *socket) command(ctx context.Context, c envelope) error {
	ctx, done := fair.Part(ctx)
	defer done()
	if c.refused != nil {
		return k.answer(ctx, promptID(c.Data), c.refused)
	}
	switch c.Type {
	case "load_events":
		return k.answer(ctx, "", k.load(ctx, c.Data))
	case "keepalive":
		return k.answer(ctx, "", k.keepalive(ctx))
	case "prompt":
		return k.prompt(ctx, c.Data)
	case "interrupt":
		return k.answer(ctx, "", k.interrupt(ctx, c.Data))
	case "cancel":
		_, _, err := k.Engine.Cancel(ctx, k.org, k.execution)
		return k.answer(ctx, "", err)
	}
	return k.answer(ctx, "", perdure.FieldErrorf("type",
		"%q is no message; send, as text, load_events, keepalive, prompt, interrupt or cancel as {\"type\": ..., \"data\": {...}}", c.Type))
}

// interrupt stops the current turn of the execution's agent.
func (k *socket) interrupt(ctx context.Context, raw json.RawMessage) error {
	var in perdure.Interrupt
	if len(raw) > 0 {
		if err := perdure.DecodeExactly("data", raw, &in); err != nil {
			return err
		}
	}
	_, err := k.Engine.Interrupt(ctx, k.org, k.execution, in)
	return err
}

// socketError is the data of a message with the type error.
type socketError struct {
	Code     perdure.Code `json:"code"`
	Message  string       `json:"message"`
	PromptID string       `json:"prompt_id,omitempty"`
}

// answer sends an error to the client if the error has a code. It returns any other error, which
// ends the socket.
func (k *socket) answer(ctx context.Context, promptID string, err error) error {
	if err == nil || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var coded *perdure.Error
	if !errors.As(err, &coded) {
		return err
	}
	p := k.ProblemOf(ctx, err)
	return k.send(ctx, "error", socketError{Code: p.Code, Message: p.Detail, PromptID: promptID})
}

// loadEvents is a client's request for a page of events. If no member is set, it requests the
// newest page.
type loadEvents struct {
	AfterSeq  *int64 `json:"after_seq"`
	BeforeSeq *int64 `json:"before_seq"`
	Cursor    string `json:"cursor"`
	Limit     *int   `json:"limit"`
}

func (l loadEvents) check() error {
	asked := 0
	for _, given := range []bool{l.AfterSeq != nil, l.BeforeSeq != nil, l.Cursor != ""} {
		if given {
			asked++
		}
	}
	if asked > 1 {
		return perdure.FieldErrorf("after_seq", "only one of after_seq, before_seq and cursor can be given")
	}
	if l.Limit != nil && (*l.Limit < 1 || *l.Limit > wsMaxLimit) {
		return perdure.FieldErrorf("limit", "must be from 1 to %d", wsMaxLimit)
	}
	return nil
}

// eventsLoaded is the data of a message with the type events_loaded.
type eventsLoaded struct {
	Events   []record.Event `json:"events"`
	FirstSeq int64          `json:"first_seq"`
	LastSeq  int64          `json:"last_seq"`
	MaxSeq   int64          `json:"max_seq"`
	HasMore  bool           `json:"has_more"`
	Prepend  bool           `json:"prepend"`
	Stale    bool           `json:"is_stale_client"`
	// Reset is set if the client must drop its copy of the log. It contains the reason.
	Reset *eventlog.ResetData `json:"reset,omitempty"`
}

func (k *socket) load(ctx context.Context, raw json.RawMessage) error {
	var in loadEvents
	if len(raw) > 0 {
		if err := perdure.DecodeExactly("data", raw, &in); err != nil {
			return err
		}
	}
	if err := in.check(); err != nil {
		return err
	}
	limit := wsLimit
	if in.Limit != nil {
		limit = *in.Limit
	}
	if in.Cursor != "" {
		return k.loadAt(ctx, in.Cursor, limit)
	}
	w, err := k.Log.Window(ctx, k.execution, eventlog.Span{After: in.AfterSeq, Before: in.BeforeSeq, Limit: limit})
	if err != nil {
		return err
	}
	if err := k.window(ctx, w, in.BeforeSeq != nil); err != nil {
		return err
	}
	if in.BeforeSeq == nil {
		k.goOn(ctx, w.At, in.AfterSeq != nil && w.Reset == nil && w.More)
	}
	return nil
}

// window sends a page that the client has requested by seq, and records which events the page
// contains.
func (k *socket) window(ctx context.Context, w eventlog.Window, prepend bool) error {
	if w.Reset != nil {
		k.pages, k.chain = nil, nil // the client drops its earlier pages and starts with this one
	}
	out := eventsLoaded{
		FirstSeq: w.First, LastSeq: w.Last, MaxSeq: w.Max, HasMore: w.More, Prepend: prepend, Stale: w.Reset != nil, Reset: w.Reset,
	}
	if err := k.loaded(ctx, out, slices.Concat(w.Across, w.Items)); err != nil {
		return err
	}
	if len(w.Items) > 0 {
		k.pages.add(sentPage{w.First, w.Last, w.At.Pos})
	}
	for _, block := range w.Across {
		k.pages.add(sentPage{block.Seq, block.Seq, w.AcrossAt})
	}
	return nil
}

// loadAt sends a page of the records after a cursor. If the cursor is inside an open block, the
// page begins at the cursor's exact byte in the block.
func (k *socket) loadAt(ctx context.Context, cursor string, limit int) error {
	p, err := k.Log.Page(ctx, k.execution, cursor, limit)
	// A page may be empty if its text was pruned. Skip it, because the client needs an event to get
	// the next cursor.
	for err == nil && p.Reset == nil && len(p.Items) == 0 && !p.UpToDate {
		p, err = k.Log.Page(ctx, k.execution, p.Next.String(), limit)
	}
	if err != nil {
		return record.CursorError(err, "cursor")
	}
	head, err := k.Engine.Read().LogHead(ctx, k.execution)
	if err != nil {
		return err
	}
	if p.Reset != nil {
		return k.loadStale(ctx, limit, p.Reset)
	}
	out := eventsLoaded{MaxSeq: head.LastSeq, HasMore: !p.UpToDate}
	for _, i := range p.Items {
		if out.FirstSeq == 0 {
			out.FirstSeq = i.Seq
		}
		out.LastSeq = max(out.LastSeq, i.Seq)
	}
	if err := k.loaded(ctx, out, p.Items); err != nil {
		return err
	}
	k.chain = nil
	k.goOn(ctx, p.Next, !p.UpToDate)
	return nil
}

// loadStale answers a client whose position does not fit the log. It sends the newest page, marked
// as stale. The client then drops the events that it has.
func (k *socket) loadStale(ctx context.Context, limit int, why *eventlog.ResetData) error {
	w, err := k.Log.Window(ctx, k.execution, eventlog.Span{Limit: limit})
	if err != nil {
		return err
	}
	w.Reset = why
	if err := k.window(ctx, w, false); err != nil {
		return err
	}
	k.goOn(ctx, w.At, false)
	return nil
}

func (k *socket) loaded(ctx context.Context, out eventsLoaded, items []eventlog.Item) error {
	out.Events = []record.Event{}
	for _, i := range items {
		out.Events = append(out.Events, record.Of(i))
	}
	return k.send(ctx, "events_loaded", out)
}

// goOn begins to follow the log once the client has loaded all pages. A page that is requested by
// seq shows the log at the moment when the page is read. After such pages, goOn starts at the
// position of the first page, so the client misses no event that was committed while it loaded the
// others. After pages that are requested by cursor, goOn starts at the end of the last page.
func (k *socket) goOn(ctx context.Context, at perdure.Cursor, more bool) {
	if k.chain == nil {
		k.chain = &at
	}
	if !more {
		k.follow(ctx, *k.chain)
	}
}

func (k *socket) keepalive(ctx context.Context) error {
	head, err := k.Engine.Read().LogHead(ctx, k.execution)
	if err != nil {
		return err
	}
	return k.send(ctx, "keepalive_ack", map[string]any{"max_seq": head.LastSeq})
}

// promptID returns the id in a refused prompt, for the error message to the client.
func promptID(data json.RawMessage) string {
	var in struct {
		ID string `json:"prompt_id"`
	}
	_ = json.Unmarshal(data, &in)
	return in.ID
}

// prompt sends a userMessage to the execution. A prompt that the client repeats has the same id,
// and is stored only once.
func (k *socket) prompt(ctx context.Context, raw json.RawMessage) error {
	var in struct {
		ID   string  `json:"prompt_id"`
		Text *string `json:"text"`
	}
	if err := perdure.DecodeExactly("data", raw, &in); err != nil {
		return k.answer(ctx, promptID(raw), err)
	}
	if in.ID == "" || in.Text == nil {
		return k.answer(ctx, in.ID, perdure.FieldErrorf("data", "of a prompt must be {\"prompt_id\": \"...\", \"text\": \"...\"}"))
	}
	value, err := json.Marshal(map[string]any{"text": *in.Text})
	if err != nil {
		return err
	}
	_, err = k.Engine.Signal(ctx, k.org, k.execution, engine.SignalRequest{Name: perdure.UserMessage, Value: value, ID: in.ID})
	if err != nil {
		return k.answer(ctx, in.ID, err)
	}
	return k.send(ctx, "prompt_ack", map[string]any{"prompt_id": in.ID})
}
