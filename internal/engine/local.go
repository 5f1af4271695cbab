package engine

import (
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// local reports whether the execution is LOCAL. The server applies the same rules to the structure
// of such an execution. Its contents stay on the worker that claimed it first; the server stores
// references, whose ids are derived from the hashes.

func (d *draft) local() bool { return d.x.PersistenceMode == perdure.Local }

// homeOf returns the id of a polling worker if it can run LOCAL executions, nil otherwise.
func homeOf(p perdure.Poll) *uuid.UUID {
	if !p.Local {
		return nil
	}
	return &p.WorkerID
}

// mayClaim reports whether the worker may run the execution.
func mayClaim(x *perdure.Execution, worker uuid.UUID, local bool) bool {
	return x.PersistenceMode != perdure.Local || local && (x.HomeID == nil || *x.HomeID == worker)
}

// settle records the first worker that claims a LOCAL execution as the execution's home.
func (d *draft) settle(worker uuid.UUID) {
	if d.local() && d.x.HomeID == nil {
		d.x.HomeID = &worker
	}
}

// kept checks the contents of a LOCAL execution: they must be references whose ids are derived from
// the execution and the hash. The contents of other executions are checked where they are used.
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

// checkKept checks that a commit of a LOCAL execution contains references only.
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

// withhold records a reference of a LOCAL execution. Error: invalid_argument, if the same hash is
// stored with another length.
func (d *draft) withhold(ref perdure.BlobRef) error {
	if known, ok := d.s.Blobs[ref.ID]; ok && known.Length != ref.Length {
		return perdure.FieldErrorf("blob.length", "the content %s has %d bytes, not %d", ref.SHA256, known.Length, ref.Length)
	}
	d.c.Withhold = append(d.c.Withhold, ref)
	return nil
}

// quiet returns the error in the form that is stored: with text that every store can hold and, in a
// LOCAL execution, without its message.
func (d *draft) quiet(e *perdure.TaskError) *perdure.TaskError {
	q := mended(e)
	if q != nil && d.local() {
		q.Message = perdure.KeptByWorker
	}
	return q
}

// emit appends an event that the execution's code emits. For a LOCAL execution, the log stores only
// length and hash of the event's fields; live readers get the fields.
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

// show passes the content of the last record to live readers, once the record is durable.
func (d *draft) show(content []byte) {
	d.shown = append(d.shown, shown{pos: d.s.Head.LastPos, content: content})
}

// eraseInput deletes the server's copy of a LOCAL execution's input, once the worker has it. The
// state must hold its blob.
func (d *draft) eraseInput() {
	ref := d.x.InputBlob
	if !d.local() || ref == nil || slices.Contains(d.c.Erase, ref.ID) {
		return
	}
	if b := d.s.Blobs[ref.ID]; b != nil && b.Held > 0 {
		d.c.Erase = append(d.c.Erase, ref.ID)
	}
}

// inputBlobs returns the blob of a LOCAL execution's input, for decisions that may erase it.
func inputBlobs(x *perdure.Execution) []uuid.UUID {
	if x == nil || x.PersistenceMode != perdure.Local || x.InputBlob == nil {
		return nil
	}
	return []uuid.UUID{x.InputBlob.ID}
}

// place assigns a task of a LOCAL execution to the queue of the worker that has its content. The
// task key is cleared, because the caller's name of the task may be content; the key's hash
// identifies the task.
func (d *draft) place(o *perdure.TaskOptions) {
	if d.local() && d.x.HomeID != nil {
		o.Queue, o.Instance, o.Key = perdure.LocalQueue(*d.x.HomeID), "", ""
	}
}
