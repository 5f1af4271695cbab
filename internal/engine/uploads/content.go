package uploads

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/rules/validate"
)

// Content is one content of a commit or of a task's result, and how it is checked.
type Content struct {
	Field string // name of the field in errors
	perdure.Payload
	// Fit, if set, checks the content once it is known to be valid JSON.
	Fit      func(json.RawMessage) error
	entry    *perdure.Entry       // set if the content is an entry's
	question *perdure.NewQuestion // set if the content is a question's details
}

// check checks a content whose bytes are in the request.
func (c Content) check(raw json.RawMessage) error {
	if c.question != nil {
		return nil // the check of the question includes its details
	}
	if c.entry == nil {
		if err := validate.JSON(c.Field, raw); err != nil || c.Fit == nil {
			return err
		}
		return c.Fit(raw)
	}
	e := *c.entry
	e.Content, e.Blob = raw, nil
	return perdure.CheckContent(e)
}

// uploaded returns the Rule that the content must satisfy if it is uploaded.
func (c Content) uploaded() Rule {
	if c.question != nil {
		return Rule{What: "the details of a question", Scan: c.scanDetails}
	}
	if c.entry == nil {
		return Rule{What: "the content", Whole: c.Fit, workersJSON: c.Fit == nil, Scan: func(text io.Reader) error {
			return perdure.CheckDocument(c.Field, text, workersJSON)
		}}
	}
	scan := func(text io.Reader) error { return perdure.CheckContentText(*c.entry, text) }
	return Rule{What: "the content", Scan: scan, Whole: c.check}
}

// scanDetails checks the uploaded details of a question, and compares their hash with the hash in
// the request.
func (c Content) scanDetails(text io.Reader) error {
	h := sha256.New()
	h.Write(perdure.DetailsPrefix(c.question.Kind, c.question.Subject))
	if err := perdure.CheckDocument(c.Field, io.TeeReader(text, h), workersJSON); err != nil {
		return err
	}
	if _, err := io.Copy(h, text); err != nil {
		return err
	}
	if perdure.Hash(h.Sum(nil)) != c.question.DetailsSHA256 {
		return perdure.FieldErrorf(c.Field+"Sha256", "is not the hash of kind, subject and details")
	}
	return nil
}

// ContentsOf returns the contents of a commit that must be checked. The last one is the output of
// the execution.
func ContentsOf(c perdure.Commit) []Content {
	var all []Content
	for i := range c.Entries {
		n := &c.Entries[i]
		all = append(all, Content{
			Field: "entries." + n.ID.String() + ".content", Payload: perdure.Payload{Bytes: n.Content, Blob: n.Blob}, entry: &n.Entry,
		})
	}
	for _, t := range c.Tasks {
		all = append(all, Content{Field: "tasks." + t.Key + ".input", Payload: t.Input})
	}
	for _, s := range c.Steps {
		all = append(all, Content{Field: "steps." + s.Key + ".result", Payload: s.Result})
	}
	for i := range c.Questions {
		q := &c.Questions[i]
		all = append(all, Content{
			Field: fmt.Sprintf("questions[%d].details", i), Payload: perdure.Payload{Bytes: q.Details, Blob: q.DetailsBlob}, question: q,
		})
	}
	if c.Checkpoint != nil {
		all = append(all, Content{Field: "checkpoint.state", Payload: c.Checkpoint.State})
	}
	return append(all, Content{Field: "outcome.output", Payload: c.Outcome.Output})
}

// CheckAll checks the contents of a request. It reads uploaded contents, one at a time, and checks
// them like inline contents. If an inline content is invalid, CheckAll returns the error. The
// result contains the outcome of the check of each uploaded content, because package rules needs
// these errors only if the request is not a repeat. Contents whose upload is incomplete are not in
// the result.
func (u *Uploads) CheckAll(ctx context.Context, org string, execution uuid.UUID, all []Content) (rules.CheckedRefs, error) {
	refs := rules.CheckedRefs{}
	for _, c := range all {
		if c.Blob == nil {
			if c.entry != nil {
				continue // rules.Commit checks the content, unless the entry is a repeat
			}
			if err := c.check(c.Bytes); err != nil {
				return nil, err
			}
			continue
		}
		if len(refs) == 0 {
			if _, err := u.refs.Execution(ctx, org, execution); err != nil {
				return nil, err
			}
		}
		if err := u.checkRef(ctx, org, execution, c, refs); err != nil {
			return nil, err
		}
	}
	return refs, nil
}

func (u *Uploads) checkRef(ctx context.Context, org string, execution uuid.UUID, c Content, refs rules.CheckedRefs) error {
	key := rules.CheckedRef{Blob: c.Blob.ID}
	switch {
	case c.entry != nil:
		key.Entry = c.entry.ID
	case c.question != nil:
		key.Question = perdure.QuestionID(execution, c.question.Key)
	}
	if _, known := refs[key]; known {
		return nil
	}
	checked, refused, err := u.Check(ctx, org, execution, c.Blob.ID, c.uploaded())
	if checked && err == nil {
		refs[key] = refused
	}
	return err
}
