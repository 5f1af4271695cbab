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

// A result that was checked as it was uploaded is not read to be checked when it is
// named. One that was not JSON is, and is refused as any other; so is everything where
// nothing is known of the uploads.
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

// What a client uploads is not taken as checked: other rules hold for it.
func TestAClientsUploadIsNotTakenAsChecked(t *testing.T) {
	b := newBench(t)
	id := b.start()
	ref, err := b.e.PutContent(b.Context(), org, id, 2, strings.NewReader("{}"))
	b.must(err)
	if b.e.passed.has(ref.ID) {
		t.Error("it is")
	}
}

// What an engine has seen pass is read again by another, as at another server.
func TestAnotherServersUploadIsRead(t *testing.T) {
	h := newBench(t).started()
	ref := h.upload(h.owner(), []byte(`"x"`))
	reads := &blobReads{Store: h.s}
	h.use(reads)
	if err := h.step(ref); err != nil || reads.n != 1 {
		t.Errorf("the content was read %d times, %v", reads.n, err)
	}
}

// Which contents have passed is known of the newest ones, in bounded memory.
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
