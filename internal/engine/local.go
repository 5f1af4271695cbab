package engine

import (
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// What is other for LOCAL executions. The server decides about their skeleton
// by the same rules; the content stays on the worker that claimed it first, and
// a reference, which follows from its hash, stands for it here.

func (d *draft) local() bool { return d.x.PersistenceMode == perdure.Local }

// homeOf is what a pick must know of a worker that polls.
func homeOf(p perdure.Poll) *uuid.UUID {
	if !p.Local {
		return nil
	}
	return &p.WorkerID
}

// mayClaim reports whether that worker may run the execution.
func mayClaim(x *perdure.Execution, worker uuid.UUID, local bool) bool {
	return x.PersistenceMode != perdure.Local || local && (x.HomeID == nil || *x.HomeID == worker)
}

// settle makes the worker that claims a LOCAL execution first its home.
func (d *draft) settle(worker uuid.UUID) {
	if d.local() && d.x.HomeID == nil {
		d.x.HomeID = &worker
	}
}

// kept checks contents of an execution. Those of a LOCAL one come as references
// that follow from execution and hash; those of others are checked as they are
// used.
type kept struct {
	execution uuid.UUID
	local     bool
	limit     int64
	err       error
}

func (k *kept) check(field string, inline json.RawMessage, ref *perdure.BlobRef) {
	if !k.local || k.err != nil {
		return
	}
	switch {
	case inline != nil:
		k.err = perdure.FieldErrorf(field, "a LOCAL execution's content stays on its worker; send its reference")
	case ref == nil:
	case ref.ID != perdure.ContentID(k.execution, ref.SHA256):
		k.err = perdure.FieldErrorf(field+".blob.id", "is not the id that follows from the execution and the content's SHA-256")
	case ref.Length <= 0:
		k.err = perdure.FieldErrorf(field+".blob.length", "must be that of the content, in bytes")
	case ref.Length > k.limit:
		k.err = perdure.Errorf(perdure.PayloadTooLarge, "%s has %d bytes; the limit is %d", field, ref.Length, k.limit)
	}
}

func (k *kept) payload(field string, p perdure.Payload) { k.check(field, p.Bytes, p.Blob) }

func (e *Engine) keptOf(x *perdure.Execution) *kept {
	return &kept{execution: x.ID, local: x.PersistenceMode == perdure.Local, limit: e.PayloadLimit}
}

// checkKept checks that a commit of a LOCAL execution carries no content.
func (e *Engine) checkKept(x *perdure.Execution, c perdure.Commit) error {
	k := e.keptOf(x)
	for _, n := range c.Entries {
		at := "entries." + n.ID.String()
		k.check(at+".content", n.Content, n.Blob)
		k.check(at+".metadata", n.Metadata, nil)
		if k.local && k.err == nil && n.Blob == nil {
			return perdure.FieldErrorf(at+".content", "is missing; send its reference")
		}
	}
	for _, t := range c.Tasks {
		k.payload("tasks."+t.Key+".input", t.Input)
	}
	for _, s := range c.Steps {
		k.payload("steps."+s.Key+".result", s.Result)
	}
	if c.Checkpoint != nil {
		k.payload("checkpoint.state", c.Checkpoint.State)
	}
	k.payload("outcome.output", c.Outcome.Output)
	return k.err
}

// withhold keeps a reference of a LOCAL execution. Two contents of one hash and
// different lengths are none.
func (d *draft) withhold(ref perdure.BlobRef) error {
	if known, ok := d.s.Blobs[ref.ID]; ok && known.Length != ref.Length {
		return perdure.FieldErrorf("blob.length", "the content %s has %d bytes, not %d", ref.SHA256, known.Length, ref.Length)
	}
	d.c.Withhold = append(d.c.Withhold, ref)
	return nil
}

// quiet is an error as it is kept: in words that every store can hold, and in a
// LOCAL execution without what it says.
func (d *draft) quiet(e *perdure.TaskError) *perdure.TaskError {
	q := mended(e)
	if q != nil && d.local() {
		q.Message = perdure.KeptByWorker
	}
	return q
}

// emit appends an event that the execution's code emits. Of one of a LOCAL
// execution the log keeps length and hash; live readers are shown it all.
func (d *draft) emit(r perdure.Record) {
	if !d.local() || r.Fields == nil {
		d.record(r)
		return
	}
	live, ref := r.Fields, perdure.ContentRef(d.x.ID, r.Fields)
	d.c.Withhold = append(d.c.Withhold, ref)
	r.Blob = &ref
	r.Fields = fields(map[string]any{"content": perdure.OnWorker, "length": ref.Length, "sha256": ref.SHA256})
	d.record(r)
	d.show(live)
}

// show hands the content of the record before to live readers, once the record
// is durable.
func (d *draft) show(content []byte) {
	d.shown = append(d.shown, shown{pos: d.s.Head.LastPos, content: content})
}

// eraseInput deletes the input here, once its worker has it. The state must hold
// its blob.
func (d *draft) eraseInput() {
	ref := d.x.InputBlob
	if !d.local() || ref == nil || slices.Contains(d.c.Erase, ref.ID) {
		return
	}
	if b := d.s.Blobs[ref.ID]; b != nil && b.Held > 0 {
		d.c.Erase = append(d.c.Erase, ref.ID)
	}
}

// inputBlobs names the blob of a LOCAL execution's input, for decisions that may
// erase it.
func inputBlobs(x *perdure.Execution) []uuid.UUID {
	if x == nil || x.PersistenceMode != perdure.Local || x.InputBlob == nil {
		return nil
	}
	return []uuid.UUID{x.InputBlob.ID}
}

// place gives a task of a LOCAL execution to the worker that has its content.
// What the caller named it by is in its key's hash.
func (d *draft) place(o *perdure.TaskOptions) {
	if d.local() && d.x.HomeID != nil {
		o.Queue, o.Instance, o.Key = perdure.LocalQueue(*d.x.HomeID), "", ""
	}
}
