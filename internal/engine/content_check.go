package engine

import (
	"context"
	"encoding/json"
	"io"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// content is one content of a commit or of a result, with the field that holds it.
type content struct {
	field string
	perdure.Payload
	entry *perdure.Entry // set if the content is an entry's
}

// check checks the bytes of a content that is in place.
func (c content) check(raw json.RawMessage) error {
	if c.entry == nil {
		return checkJSON(c.field, raw)
	}
	e := *c.entry
	e.Content, e.Blob = raw, nil
	return perdure.CheckContent(e)
}

// uploaded returns the check for a content by reference.
func (c content) uploaded() uploadedCheck {
	if c.entry == nil {
		return uploadedCheck{what: "the content", workersJSON: true, scan: func(text io.Reader) error {
			return perdure.CheckDocument(c.field, text, workersJSON)
		}}
	}
	scan := func(text io.Reader) error { return perdure.CheckContentText(*c.entry, text) }
	return uploadedCheck{what: "the content", scan: scan, whole: c.check}
}

// contentsOf returns the contents of a commit.
func contentsOf(c perdure.Commit) []content {
	var all []content
	for i := range c.Entries {
		n := &c.Entries[i]
		all = append(all, content{"entries." + n.ID.String() + ".content", perdure.Payload{Bytes: n.Content, Blob: n.Blob}, &n.Entry})
	}
	for _, t := range c.Tasks {
		all = append(all, content{field: "tasks." + t.Key + ".input", Payload: t.Input})
	}
	for _, s := range c.Steps {
		all = append(all, content{field: "steps." + s.Key + ".result", Payload: s.Result})
	}
	if c.Checkpoint != nil {
		all = append(all, content{field: "checkpoint.state", Payload: c.Checkpoint.State})
	}
	return append(all, content{field: "outcome.output", Payload: c.Outcome.Output})
}

// checkedRef is one use of an uploaded content: as the content of an entry or, if entry is Nil, as
// any JSON.
type checkedRef struct{ blob, entry uuid.UUID }

// checkedRefs are the uploaded contents that were checked before a decision, each with the error
// that refuses it, or nil.
type checkedRefs map[checkedRef]error

// checkContents checks contents in place, and reads uploaded contents, one at a time, to check them
// in the same way. It returns the error of a content in place. The error of an uploaded content is
// in the result, and the decision returns it, because the request may be a repeat. A content whose
// upload is incomplete is not in the result.
func (e *Engine) checkContents(ctx context.Context, org string, execution uuid.UUID, all []content) (checkedRefs, error) {
	refs := checkedRefs{}
	for _, c := range all {
		if c.Blob == nil {
			if c.entry != nil {
				continue // append checks the content, unless the entry is a repeat
			}
			if err := c.check(c.Bytes); err != nil {
				return nil, err
			}
			continue
		}
		if len(refs) == 0 {
			if _, err := e.refs.Execution(ctx, org, execution); err != nil {
				return nil, err
			}
		}
		if err := e.checkRef(ctx, org, execution, c, refs); err != nil {
			return nil, err
		}
	}
	return refs, nil
}

func (e *Engine) checkRef(ctx context.Context, org string, execution uuid.UUID, c content, refs checkedRefs) error {
	key := checkedRef{blob: c.Blob.ID}
	if c.entry != nil {
		key.entry = c.entry.ID
	}
	if _, known := refs[key]; known {
		return nil
	}
	checked, refused, err := e.checkUploaded(ctx, org, execution, c.Blob.ID, c.uploaded())
	if checked && err == nil {
		refs[key] = refused
	}
	return err
}

// useContent takes an uploaded content into the commit if it passed its check. The entry is the one
// that holds the content, or Nil. Error: conflict, if the upload was incomplete when the contents
// were checked.
func (d *draft) useContent(ref *perdure.BlobRef, entry uuid.UUID) error {
	if ref == nil || d.local() {
		return d.useBlob(ref)
	}
	err, read := d.refs[checkedRef{ref.ID, entry}]
	if !read {
		return notWhole(ref.ID)
	}
	if err != nil {
		return err
	}
	return d.useBlob(ref)
}
