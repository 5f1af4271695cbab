package rules

import (
	"cmp"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// draft collects the changes that a function of this package makes to an execution and its log,
// until the method done returns them.
type draft struct {
	s      *store.State
	cfg    Config
	x      *perdure.Execution
	c      store.Changes
	hints  []Hint
	freed  []Freed
	live   []LiveContent
	seen   []Observation      // events for metrics, sent after the commit
	tasks  map[uuid.UUID]bool // ids of the tasks that are in c.Tasks already
	refs   CheckedRefs        // results of the checks of uploaded contents
	judged JudgedTasks        // new tasks that need a clearance, with the results of the policies
	woken  *Woken             // set if the function makes a claim; done sets its field Execution
}

func begin(s *store.State) *draft {
	return &draft{s: s, x: s.Execution, tasks: map[uuid.UUID]bool{}}
}

// done returns the collected changes, together with the execution's row, the log's head and the
// hints. `value` becomes Decision.Value.
func (d *draft) done(value any) *store.Changes {
	if len(d.c.Records) > 0 {
		head := d.s.Head
		d.c.Head = &head
		d.x.MaxSeq = head.LastSeq
		d.hint(Hint{Kind: HintLog, Execution: d.x.ID})
		d.deliver()
	}
	d.x.UpdatedAt = d.s.Now
	d.x.Version++
	d.c.Execution = d.x
	if d.woken != nil {
		d.woken.Execution = *d.x
	}
	d.c.Answer = &Decision{Value: value, Hints: d.hints, Freed: d.freed, Live: d.live, Seen: d.seen, Woken: d.woken}
	return &d.c
}

// doneLog is like done for changes that concern only the log and not the execution's row.
func (d *draft) doneLog(value any) *store.Changes {
	answer := &Decision{Value: value, Live: d.live}
	if len(d.c.Records) > 0 {
		head := d.s.Head
		d.c.Head = &head
		d.hint(Hint{Kind: HintLog, Execution: d.x.ID})
		answer.Growth = d.growth()
		d.deliver()
	}
	answer.Hints = d.hints
	d.c.Answer = answer
	return &d.c
}

// growth returns the records that were added to the log; nil if a read of the store would return
// one of them in another form. The form is the same only for the chunks of a REMOTE execution,
// except chunks of a tool call's arguments.
func (d *draft) growth() *Growth {
	if d.local() {
		return nil
	}
	for _, r := range d.c.Records {
		if r.Chunk == nil || r.Chunk.ToolCallID != "" {
			return nil
		}
	}
	return &Growth{Execution: d.x.ID, Head: d.s.Head, Records: d.c.Records}
}

func (d *draft) hint(h Hint) { d.hints = append(d.hints, h) }

func (d *draft) observe(o Observation) { d.seen = append(d.seen, o) }

// observeRun adds an observation of the execution in its current state.
func (d *draft) observeRun(kind ObservationKind) {
	run := ObservedRun{Org: d.x.Org, ID: d.x.ID, Kind: d.x.Kind, Status: d.x.Status, Wait: d.x.WaitReason}
	if d.x.ErrorCode != nil {
		run.Code = *d.x.ErrorCode
	}
	d.observe(Observation{Kind: kind, Run: run})
}

func (d *draft) lostLease(work Work, queue string) {
	d.observe(Observation{Kind: ObservedLoss, Work: work, Queue: queue})
}

// event appends an event of the execution to the log.
func (d *draft) event(t perdure.EventType, place perdure.Place, members map[string]any) {
	d.record(perdure.Record{Type: t, Place: place, Fields: fields(members)})
}

// taskEvent appends an event of a task's attempt to the log.
func (d *draft) taskEvent(t perdure.EventType, task *perdure.Task, members map[string]any) {
	all := map[string]any{"kind": task.Kind}
	for k, v := range members {
		all[k] = v
	}
	id := task.ID
	d.record(perdure.Record{Type: t, Place: task.Place, TaskID: &id, Attempt: task.Attempt, Fields: fields(all)})
}

// record assigns the next seq and pos to an event and appends it to the log.
func (d *draft) record(r perdure.Record) int64 {
	d.s.Head.LastSeq++
	d.s.Head.LastPos++
	d.s.Head.Nonce = d.s.Nonce
	r.Seq, r.Pos, r.Nonce, r.CreatedAt = d.s.Head.LastSeq, d.s.Head.LastPos, d.s.Nonce, d.s.Now
	d.c.Records = append(d.c.Records, r)
	return r.Seq
}

// task adds a task's row to the changes, unless the changes contain it.
func (d *draft) task(t *perdure.Task) {
	if !d.tasks[t.ID] {
		d.tasks[t.ID] = true
		d.c.Tasks = append(d.c.Tasks, t)
	}
	d.s.Tasks[t.ID] = t
}

// derive returns an id that depends only on another id and a label, so that a repeated command or
// request gets the same id.
func derive(from uuid.UUID, label string) uuid.UUID { return uuid.NewSHA1(from, []byte(label)) }

// sortedTasks returns the tasks, oldest first, so that a repeated call makes the same changes.
func sortedTasks(tasks map[uuid.UUID]*perdure.Task) []*perdure.Task {
	all := make([]*perdure.Task, 0, len(tasks))
	for _, t := range tasks {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *perdure.Task) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt.Time), cmp.Compare(a.ID.String(), b.ID.String()))
	})
	return all
}

// later returns the later of two times.
func later(a, b perdure.Time) perdure.Time {
	if a.Before(b.Time) {
		return b
	}
	return a
}
