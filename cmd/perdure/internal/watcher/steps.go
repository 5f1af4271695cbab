package watcher

import (
	"context"
	"math"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// stepFeed supplies the steps of a run, which are shown between the events of its log. A log
// contains no steps, so stepFeed reads them from the run's list of tasks. stepFeed holds at most
// one page of that list in memory.
type stepFeed struct {
	conn *connection.Conn
	id   uuid.UUID

	cursor string // cursor of the page that was read last
	read   int    // number of items that were read from that page
	more   bool   // there may be items that were not read
	seq    int64  // newest seq of the run when the list was last requested; steps before later events may not be in it
	steps  []*perdure.Task
}

// newStepFeed returns the feed of the steps of a run, from the first step on.
func newStepFeed(conn *connection.Conn, x *perdure.Execution) *stepFeed {
	return &stepFeed{conn: conn, id: x.ID, more: true, seq: x.MaxSeq}
}

// before returns the next step to show, if that step was recorded before an event; otherwise nil.
// The parameters are the seq and the time of the event.
func (f *stepFeed) before(ctx context.Context, seq int64, at perdure.Time) (*perdure.Task, error) {
	if seq > f.seq && !f.more {
		x, err := f.conn.Get(ctx, f.id)
		if err != nil {
			return nil, err
		}
		f.seq, f.more = x.MaxSeq, true
	}
	for len(f.steps) == 0 && f.more {
		if err := f.next(ctx); err != nil {
			return nil, err
		}
	}
	if len(f.steps) == 0 || f.steps[0].CreatedAt.After(at.Time) {
		return nil, nil
	}
	first := f.steps[0]
	f.steps = f.steps[1:]
	return first, nil
}

// next requests the page of the task list at f.cursor, and adds the steps of the page to f.steps.
// The last page of the list may have grown since next read it; next adds only the steps that it has
// not added before.
func (f *stepFeed) next(ctx context.Context) error {
	p, err := f.conn.AllTasksPage(ctx, f.id, client.PageOptions{Cursor: f.cursor, Limit: 200})
	if err != nil {
		return err
	}
	for _, t := range p.Items[min(f.read, len(p.Items)):] {
		if t.Step {
			t.Input, t.Result = nil, nil
			f.steps = append(f.steps, t)
		}
	}
	f.read, f.more = len(p.Items), p.NextCursor != nil
	if f.more {
		f.cursor, f.read = *p.NextCursor, 0
	}
	return nil
}

// skip drops all steps that have been recorded so far, so that they are not shown.
func (f *stepFeed) skip(ctx context.Context) error {
	for f.more {
		if err := f.next(ctx); err != nil {
			return err
		}
		f.steps = nil
	}
	return nil
}

// show shows an event, after the steps that were recorded before it.
func (w *Watcher) show(ctx context.Context, e client.Event) error {
	if w.steps != nil {
		r, _, err := e.Record()
		if err != nil {
			return err
		}
		if r.Chunk == nil {
			if err := w.showSteps(ctx, r.Seq, r.CreatedAt); err != nil {
				return err
			}
		}
	}
	return w.View.Event(w.withContent(ctx, e))
}

// showSteps shows the steps that were recorded before an event. The parameters are the seq and the
// time of the event.
func (w *Watcher) showSteps(ctx context.Context, seq int64, at perdure.Time) error {
	for {
		step, err := w.steps.before(ctx, seq, at)
		if err != nil || step == nil {
			return err
		}
		w.View.(*terminal.TextView).Step(step)
	}
}

// showLaterSteps shows the steps that were recorded after the last event.
func (w *Watcher) showLaterSteps(ctx context.Context) error {
	if w.steps == nil {
		return nil
	}
	return w.showSteps(ctx, 0, perdure.AtMilli(math.MaxInt64))
}

// IncludeSteps lets the watcher show the steps of a run. It does nothing if the output is not text,
// or for a run of the react agent.
func (w *Watcher) IncludeSteps(x *perdure.Execution) {
	if _, text := w.View.(*terminal.TextView); text && x.Kind != perdure.ReactKind {
		w.steps = newStepFeed(w.RunConn.Conn, x)
	}
}
