package engine

import (
	"io"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/questions"
)

// asks returns a question that asks for the approval of the details.
func asks(key string, details []byte) perdure.NewQuestion {
	return perdure.NewQuestion{
		Key: key, QuestionTerms: perdure.QuestionTerms{Kind: perdure.QuestionApproval, Subject: "deploy"}, Details: details,
		DetailsSHA256: perdure.DetailsHash(perdure.QuestionApproval, "deploy", details),
	}
}

// byReference uploads the details of a question, and returns the question with a reference to them.
func (h *holder) byReference(q perdure.NewQuestion) perdure.NewQuestion {
	q.Details, q.DetailsBlob = nil, h.upload(h.owner(), q.Details)
	return q
}

func largeDetails(n int) []byte { return []byte(`{"x":"` + strings.Repeat("x", n) + `"}`) }

// TestDetailsAreCheckedInPlaceAndByReference checks that details are refused if they are not JSON,
// or if the question states another hash than that of the details. Inline and uploaded details get
// the same error, and a refused commit stores nothing.
func TestDetailsAreCheckedInPlaceAndByReference(t *testing.T) {
	other := asks("q", largeDetails(40<<10))
	other.DetailsSHA256 = perdure.Hash{1}
	for name, c := range map[string]struct {
		q     perdure.NewQuestion
		field string
	}{
		"no JSON":      {asks("q", []byte(`{"x":`)), "questions[0].details"},
		"no UTF-8":     {asks("q", []byte("\"\xff\"")), "questions[0].details"},
		"another hash": {other, "questions[0].detailsSha256"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newBench(t).started()
			_, inPlace := h.try(func(c2 *perdure.Commit) { c2.Questions = []perdure.NewQuestion{c.q} })
			_, byReference := h.try(func(c2 *perdure.Commit) { c2.Questions = []perdure.NewQuestion{h.byReference(c.q)} })
			wantSameRefusal(t, perdure.InvalidArgument, inPlace, byReference)
			wantField(t, byReference, c.field)
			if n := h.execution(h.id).OpenQuestions; n != 0 {
				t.Errorf("%d questions are open", n)
			}
		})
	}
}

// TestDetailsHashIsCheckedBesideAnotherUse checks that the hash of details is checked even if their
// blob is also the input of a task.
func TestDetailsHashIsCheckedBesideAnotherUse(t *testing.T) {
	h := newBench(t).started()
	q := h.byReference(asks("q", largeDetails(40<<10)))
	q.DetailsSHA256 = perdure.Hash{1}
	task := h.newTask("1")
	task.Input = perdure.Payload{Blob: q.DetailsBlob}
	_, err := h.try(func(c *perdure.Commit) { c.Tasks, c.Questions = []perdure.NewTask{task}, []perdure.NewQuestion{q} })
	wantField(t, err, "questions[0].detailsSha256")
}

// TestLargeDetailsOfAQuestion checks details that are too large for a row, inline and by reference.
// Such details are stored once. A question that is asked again with the same details is the same
// question. Details over the size limit of payloads are refused.
func TestLargeDetailsOfAQuestion(t *testing.T) {
	b := newBench(t)
	b.use(b.s, func(c *Config) { c.PayloadLimit = 100 << 10 })
	h := b.started()
	inPlace, uploaded := asks("in place", largeDetails(40<<10)), asks("uploaded", largeDetails(60<<10))
	for range 2 {
		h.commit(func(c *perdure.Commit) { c.Questions = []perdure.NewQuestion{inPlace, h.byReference(uploaded)} })
	}
	for _, asked := range []perdure.NewQuestion{inPlace, uploaded} {
		q, err := b.s.Question(t.Context(), org, perdure.QuestionID(h.id, asked.Key))
		h.must(err)
		if q.Details != nil || questions.LargeDetails(q) == nil || q.Version != 1 {
			t.Fatalf("question %s is in version %d, with %d bytes in place and the blob %v", q.Key, q.Version, len(q.Details), q.DetailsBlob)
		}
		content, err := b.e.Questions.OpenLargeDetails(t.Context(), q)
		h.must(err)
		raw, err := io.ReadAll(content)
		h.must(err)
		if string(raw) != string(asked.Details) {
			t.Errorf("question %s has %d other bytes", q.Key, len(raw))
		}
	}
	other := asks("uploaded", largeDetails(50<<10))
	if _, err := h.try(func(c *perdure.Commit) { c.Questions = []perdure.NewQuestion{h.byReference(other)} }); !perdure.IsCode(err, perdure.IdempotencyKeyReused) {
		t.Errorf("other details under the same key: %v", err)
	}
	huge := asks("huge", largeDetails(101<<10))
	if _, err := h.try(func(c *perdure.Commit) { c.Questions = []perdure.NewQuestion{huge} }); !perdure.IsCode(err, perdure.PayloadTooLarge) {
		t.Errorf("details over the limit of payloads: %v", err)
	}
	lost := huge
	lost.Details, lost.DetailsBlob = nil, &perdure.BlobRef{ID: perdure.QuestionID(h.id, "x"), Length: 40 << 10}
	if _, err := h.try(func(c *perdure.Commit) { c.Questions = []perdure.NewQuestion{lost} }); !perdure.IsCode(err, perdure.Conflict) {
		t.Errorf("details that were not uploaded: %v", err)
	}
}
