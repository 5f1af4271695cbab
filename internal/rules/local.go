package rules

import (
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules/validate"
)

// local reports whether the execution is LOCAL: only its home worker stores its contents. The
// server stores a reference to each content. The id of the reference is derived from the id of the
// execution and the hash of the content.
func (d *draft) local() bool { return d.x.PersistenceMode == perdure.Local }

// mayClaim reports whether the worker may claim the execution. `local` says whether the worker has
// its own store for LOCAL executions.
func mayClaim(x *perdure.Execution, worker uuid.UUID, local bool) bool {
	return x.PersistenceMode != perdure.Local || local && (x.HomeID == nil || *x.HomeID == worker)
}

// settle records the worker as the home worker of a LOCAL execution that has none.
func (d *draft) settle(worker uuid.UUID) {
	if d.local() && d.x.HomeID == nil {
		d.x.HomeID = &worker
	}
}

// localContents checks that the contents of a LOCAL execution are references. The id of a reference
// must be derived from the id of the execution and the hash of the content. For a REMOTE execution
// it checks nothing.
type localContents struct {
	execution uuid.UUID
	local     bool
	limit     int64
	err       error
}

func (k *localContents) check(field string, inline json.RawMessage, ref *perdure.BlobRef) {
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

func (k *localContents) payload(field string, p perdure.Payload) { k.check(field, p.Bytes, p.Blob) }

func (c Config) localContents(x *perdure.Execution) *localContents {
	return &localContents{execution: x.ID, local: x.PersistenceMode == perdure.Local, limit: c.PayloadLimit}
}

// checkLocalCommit checks that a commit of a LOCAL execution contains references only.
func (c Config) checkLocalCommit(x *perdure.Execution, commit perdure.Commit) error {
	k := c.localContents(x)
	for _, n := range commit.Entries {
		at := "entries." + n.ID.String()
		k.check(at+".content", n.Content, n.Blob)
		k.check(at+".metadata", n.Metadata, nil)
		if k.local && k.err == nil && n.Blob == nil {
			return perdure.FieldErrorf(at+".content", "is missing; send its reference")
		}
	}
	for _, t := range commit.Tasks {
		k.payload("tasks."+t.Key+".input", t.Input)
	}
	for _, s := range commit.Steps {
		k.payload("steps."+s.Key+".result", s.Result)
	}
	if commit.Checkpoint != nil {
		k.payload("checkpoint.state", commit.Checkpoint.State)
	}
	k.payload("outcome.output", commit.Outcome.Output)
	for _, q := range commit.Questions {
		k.question("questions."+q.Key, q)
	}
	if !k.local && k.err == nil && commit.Decisions != nil {
		return perdure.FieldErrorf("decisions", "are of LOCAL executions: the answers to other executions remain on the server")
	}
	return k.err
}

// withhold stores a reference to a content of a LOCAL execution; the content stays on the worker.
// Error: invalid_argument, if the same hash is stored with another length.
func (d *draft) withhold(ref perdure.BlobRef) error {
	if known, ok := d.s.Blobs[ref.ID]; ok && known.Length != ref.Length {
		return perdure.FieldErrorf("blob.length", "the content %s has %d bytes, not %d", ref.SHA256, known.Length, ref.Length)
	}
	d.c.Withhold = append(d.c.Withhold, ref)
	return nil
}

// quiet returns an error in the form in which it is stored: its texts are valid in every store. The
// message of an error of a LOCAL execution is replaced by perdure.KeptByWorker, because only the
// worker stores the message.
func (d *draft) quiet(e *perdure.TaskError) *perdure.TaskError {
	q := validate.TaskError(e)
	if q != nil && d.local() {
		q.Message = perdure.KeptByWorker
	}
	return q
}

// emit appends an event that the agent's code has emitted. For a LOCAL execution, the log stores
// only the length and hash of the event's fields. Clients that read the log while it is written get
// the fields.
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

// show records a content for the last record of the log. After the commit, the engine passes the
// content to the clients that read the log while it is written.
func (d *draft) show(content []byte) {
	d.live = append(d.live, LiveContent{Pos: d.s.Head.LastPos, Content: content})
}

// eraseInput deletes the server's copy of a LOCAL execution's input. It is called when the worker
// has the input. The state must contain the blob of the input.
func (d *draft) eraseInput() {
	ref := d.x.InputBlob
	if !d.local() || ref == nil || slices.Contains(d.c.Erase, ref.ID) {
		return
	}
	if b := d.s.Blobs[ref.ID]; b != nil && b.Held > 0 {
		d.c.Erase = append(d.c.Erase, ref.ID)
	}
}

// inputBlobs returns the id of the blob that eraseInput may delete.
func inputBlobs(x *perdure.Execution) []uuid.UUID {
	if x == nil || x.PersistenceMode != perdure.Local || x.InputBlob == nil {
		return nil
	}
	return []uuid.UUID{x.InputBlob.ID}
}

// place puts a task of a LOCAL execution on the queue of the execution's home worker. It clears the
// key and the instance in the options, because they may contain content; the hash in Task.Key
// identifies the task.
func (d *draft) place(o *perdure.TaskOptions) {
	if d.local() && d.x.HomeID != nil {
		o.Queue, o.Instance, o.Key = perdure.LocalQueue(*d.x.HomeID), "", ""
	}
}
