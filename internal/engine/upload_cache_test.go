package engine

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// blobReads is a store that counts the calls of Blob, which open a stored content.
type blobReads struct {
	store.Store
	n int
}

func (b *blobReads) Blob(ctx context.Context, execution, blob uuid.UUID) (io.ReadCloser, error) {
	b.n++
	return b.Store.Blob(ctx, execution, blob)
}

// step commits an uploaded content as the result of a step.
func (h *holder) step(ref *perdure.BlobRef) error {
	_, err := h.try(func(c *perdure.Commit) {
		c.Steps = []perdure.StepRecord{{Name: "s", Key: "s", Result: perdure.Payload{Blob: ref}}}
	})
	return err
}

// TestAnUploadIsCheckedAsItComes checks that a commit does not read an uploaded result that was
// found to be valid JSON during its upload. An invalid result is read again once, and refused. With
// Config.Plain, nothing is checked during uploads, so the commit reads each result once.
func TestAnUploadIsCheckedAsItComes(t *testing.T) {
	long, err := json.Marshal(strings.Repeat("x", 1<<19))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		content string
		plain   bool
		reads   int
		code    perdure.Code
	}{
		"JSON":                {string(long), false, 0, ""},
		"twice a key":         {`{"a":1,"a":2}`, false, 0, ""},
		"JSON, plain":         {string(long), true, 1, ""},
		"no JSON":             {string(long[:1<<19]), false, 1, perdure.InvalidArgument},
		"no JSON, plain":      {string(long[:1<<19]), true, 1, perdure.InvalidArgument},
		"no UTF-8":            {"\"\xff\"", false, 1, perdure.InvalidArgument},
		"more than one value": {"1 2", false, 1, perdure.InvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			h := newBench(t).started()
			reads := &blobReads{Store: h.s}
			h.use(reads, func(to *Config) { to.Plain = c.plain })
			ref := h.upload(h.owner(), []byte(c.content))
			if err := h.step(ref); (err == nil) != (c.code == "") || err != nil && (!perdure.IsCode(err, c.code) || !strings.Contains(err.Error(), "steps.s.result")) {
				t.Errorf("the step gave %v, want %q", err, c.code)
			}
			if reads.n != c.reads {
				t.Errorf("the content was read %d times, want %d", reads.n, c.reads)
			}
		})
	}
}

// TestAClientsUploadIsNotTakenAsChecked checks that a commit reads a content that a client uploaded
// (PutContent). Uploads of clients have other rules than contents of commits, so the check during
// such an upload is not sufficient.
func TestAClientsUploadIsNotTakenAsChecked(t *testing.T) {
	h := newBench(t).started()
	reads := &blobReads{Store: h.s}
	h.use(reads)
	ref, err := h.e.PutContent(h.Context(), org, h.id, 2, strings.NewReader("{}"))
	h.must(err)
	if err := h.step(&ref); err != nil || reads.n != 1 {
		t.Errorf("the content was read %d times, %v", reads.n, err)
	}
}

// TestAnotherServersUploadIsRead checks that an engine reads a content that another engine checked
// during its upload.
func TestAnotherServersUploadIsRead(t *testing.T) {
	h := newBench(t).started()
	ref := h.upload(h.owner(), []byte(`"x"`))
	reads := &blobReads{Store: h.s}
	h.use(reads)
	if err := h.step(ref); err != nil || reads.n != 1 {
		t.Errorf("the content was read %d times, %v", reads.n, err)
	}
}
