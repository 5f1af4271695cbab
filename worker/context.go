package worker

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

var _ agent.Context = (*run)(nil)

// ID implements agent.Context.
func (r *run) ID() uuid.UUID { return r.id }

// Execution implements agent.Context.
func (r *run) Execution() *perdure.Execution { return r.claim.Execution }

// Place implements agent.Context.
func (r *run) Place() perdure.Place { return r.place }

// SetPlace implements agent.Context.
func (r *run) SetPlace(p perdure.Place) {
	r.place = p
	r.stream.SetPlace(p)
}

// SetTurn implements agent.Context.
func (r *run) SetTurn(id string) {
	p := r.place
	p.TurnID, p.MessageID, p.ToolCallID = id, "", ""
	r.SetPlace(p)
}

// Leaf implements agent.Context.
func (r *run) Leaf() *uuid.UUID { return r.leaf }

// Stream implements agent.Context.
func (r *run) Stream() agent.Stream { return r.stream }

// OnEnd implements agent.Context.
func (r *run) OnEnd(fn func(perdure.Status)) { r.onEnd = append(r.onEnd, fn) }

// Emit implements agent.Context.
func (r *run) Emit(data any) error {
	raw, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		return perdure.FieldErrorf("data", "does not encode: %v", err)
	}
	r.pending.Events = append(r.pending.Events, perdure.NewEvent{Type: perdure.EventData, Place: r.place, Fields: raw})
	return nil
}

// blocking must be called first by each blocking method of agent.Context. The parameter `name` is
// the name of the method. It panics if the caller is not the goroutine of the run, and does not
// return if the run is over. The error that it returns says that the execution is being cancelled.
func (r *run) blocking(name string) error {
	if goroutine() != r.goroutine.Load() {
		panic(fmt.Sprintf("agent.Context.%s was called from another goroutine than Run's; schedule several tasks and wait with JoinAll, JoinSettled or Select instead", name))
	}
	return r.check()
}

// check ends the goroutine if the run is over. Its error says that the execution is being
// cancelled.
func (r *run) check() error {
	if r.over() {
		r.exit(context.Cause(r.Context))
	}
	return context.Cause(r.Context)
}

// Schedule implements agent.Context.
func (r *run) Schedule(kind string, input any, opts ...agent.TaskOption) agent.Future {
	settings := agent.TaskSettings{Place: r.place}
	for _, opt := range opts {
		opt(&settings)
	}
	raw, err := encodeInput(input, settings)
	if err != nil {
		return agent.FailedFuture(kind, perdure.FieldErrorf("input", "of task %s does not encode: %v", kind, err))
	}
	task, err := newTask(r.ID(), kind, raw, settings)
	if err != nil {
		return agent.FailedFuture(kind, err)
	}
	id := perdure.TaskID(task.Key)
	before, asked := r.asked[id]
	if asked && before != task.InputHash && task.Options.Key != "" && task.Options.KeyTTL == 0 {
		return agent.FailedFuture(kind, perdure.Errorf(perdure.IdempotencyKeyReused,
			"the key %q of a task of kind %s was used with other input in this function", task.Options.Key, kind))
	}
	if !asked || r.askAgain(task) {
		r.asked[id] = task.InputHash
		if r.hasEnded(task) {
			return agent.FutureOf(id, kind)
		}
		r.pending.Tasks = append(r.pending.Tasks, task)
	}
	return agent.FutureOf(id, kind)
}

// encodeInput encodes the input of a task as JSON. If s has a Clearance (a person or a rule has approved
// the task), an input that is raw JSON stays as it is, because the approval is for exactly these bytes.
func encodeInput(input any, s agent.TaskSettings) (json.RawMessage, error) {
	if raw, ok := input.(json.RawMessage); ok && s.Clearance != nil && json.Valid(raw) {
		return raw, nil
	}
	return json.Marshal(input)
}

func hashOf(content []byte) perdure.Hash { return sha256.Sum256(content) }

func newTask(execution uuid.UUID, kind string, input json.RawMessage, s agent.TaskSettings) (perdure.NewTask, error) {
	t := perdure.NewTask{
		Kind: kind, Input: perdure.Inline(input), InputHash: hashOf(input), Options: s.TaskOptions, Place: s.Place, Clearance: s.Clearance,
	}
	if err := s.TaskOptions.Check("options"); err != nil {
		return t, err
	}
	if s.Key != "" {
		t.Key = perdure.CallerTaskKey(execution, kind, s.Key)
		return t, nil
	}
	key, err := perdure.DefaultTaskKey(execution, kind, input, s.Instance)
	t.Key = key
	return t, err
}

// StopTask implements agent.Context.
func (r *run) StopTask(f agent.Future) {
	r.CancelTask(f)
	if f.Err() == nil && !slices.Contains(r.pending.StopTask, f.ID) {
		r.pending.StopTask = append(r.pending.StopTask, f.ID)
	}
}

// StreamedText implements agent.Context.
func (r *run) StreamedText(f agent.Future) (string, error) {
	if f.Err() != nil {
		return "", f.Err()
	}
	got, err := r.w.Dispatch.StreamedText(r.live, r.ID(), f.ID)
	return got.Text, err
}

// CancelTask implements agent.Context.
func (r *run) CancelTask(f agent.Future) {
	if f.Err() == nil && !slices.Contains(r.pending.CancelTask, f.ID) {
		r.pending.CancelTask = append(r.pending.CancelTask, f.ID)
	}
}

// Messages implements agent.Context.
func (r *run) Messages() iter.Seq2[perdure.Entry, error] {
	return func(yield func(perdure.Entry, error) bool) {
		if err := r.flushEntries("Messages"); err != nil {
			yield(perdure.Entry{}, err)
			return
		}
		if r.stored == nil {
			return
		}
		for e, err := range r.w.path(r.live, r.ID(), *r.stored) {
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// ContextPath implements agent.Context.
func (r *run) ContextPath() iter.Seq2[perdure.Entry, error] {
	return func(yield func(perdure.Entry, error) bool) {
		if err := r.flushEntries("ContextPath"); err != nil {
			yield(perdure.Entry{}, err)
			return
		}
		if r.stored != nil {
			r.w.contextPath(r.live, r.ID(), *r.stored)(yield)
		}
	}
}

// PathOf implements agent.Context.
func (r *run) PathOf(execution, leaf uuid.UUID) iter.Seq2[perdure.Entry, error] {
	return r.w.Dispatch.Entries(r.live, perdure.EntryQuery{ExecutionID: execution, Leaf: leaf})
}

// flushEntries commits pending entries, because only stored entries can be read. The parameter
// `name` is the name of the method of agent.Context that calls flushEntries.
func (r *run) flushEntries(name string) error {
	if err := r.blocking(name); err != nil {
		return err
	}
	if len(r.pending.Entries) == 0 {
		return nil
	}
	_, err := r.commit(perdure.Outcome{})
	return err
}

// Tail implements agent.Context.
func (r *run) Tail(n int) ([]perdure.Entry, error) {
	if err := r.flushEntries("Tail"); err != nil {
		return nil, err
	}
	q := perdure.EntryQuery{ExecutionID: r.ID(), Newest: n}
	if n == 0 {
		q.After = r.ckptLeaf
	}
	if r.stored == nil || q.After != nil && *q.After == *r.stored {
		return nil, nil
	}
	q.Leaf = *r.stored
	return r.w.read(r.live, q)
}
