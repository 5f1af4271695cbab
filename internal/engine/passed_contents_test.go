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

// blobReads is a store that counts the contents that are read.
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

// TestAnUploadIsCheckedAsItComes checks that a result that passed its check during the upload is
// not read again by the commit. A result that is not JSON is read and refused. All results are read
// if nothing is known about the uploads.
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
			h.use(reads)
			h.e.Plain = c.plain
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

// TestAClientsUploadIsNotTakenAsChecked checks that a client's upload does not count as checked,
// because other rules apply to it.
func TestAClientsUploadIsNotTakenAsChecked(t *testing.T) {
	b := newBench(t)
	id := b.start()
	ref, err := b.e.PutContent(b.Context(), org, id, 2, strings.NewReader("{}"))
	b.must(err)
	if b.e.passed.has(ref.ID) {
		t.Error("it is")
	}
}

// TestAnotherServersUploadIsRead checks that a content which one engine has checked is read again
// by another engine.
func TestAnotherServersUploadIsRead(t *testing.T) {
	h := newBench(t).started()
	ref := h.upload(h.owner(), []byte(`"x"`))
	reads := &blobReads{Store: h.s}
	h.use(reads)
	if err := h.step(ref); err != nil || reads.n != 1 {
		t.Errorf("the content was read %d times, %v", reads.n, err)
	}
}

// TestOfTheNewestContentsItIsKnownThatTheyPassed checks that only the newest contents are
// remembered as checked, in bounded memory.
func TestOfTheNewestContentsItIsKnownThatTheyPassed(t *testing.T) {
	var p passedContents
	first, last := uuid.New(), uuid.Nil
	p.add(first)
	for range passedMost {
		last = uuid.New()
		p.add(last)
	}
	if !p.has(first) || !p.has(last) || p.has(uuid.New()) {
		t.Error("what passed is not known")
	}
	for range 2 * passedMost {
		p.add(uuid.New())
	}
	if p.has(first) || len(p.young)+len(p.old) > 2*passedMost {
		t.Errorf("%d are known", len(p.young)+len(p.old))
	}
}
