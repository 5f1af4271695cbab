package rules

import (
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// localQuestionNeeds adds to n the rows that Commit reads for a LOCAL execution: those for the new
// questions of the commit, and those for the questions whose answers the home worker has stored.
func localQuestionNeeds(n *store.Needs, c perdure.Commit) {
	for _, q := range c.Questions {
		if q.Withheld != nil {
			n.Blobs = append(n.Blobs, q.Withheld.Ref(c.Lease.ExecutionID).ID)
		}
	}
	for _, s := range c.Decisions {
		n.Questions = append(n.Questions, s.Question)
		n.Blobs = append(n.Blobs, s.Ref(c.Lease.ExecutionID).ID)
	}
}

// question checks that the content of a question is inline for a REMOTE execution, and a reference
// for a LOCAL one. `at` names the question in the text of an error.
func (k *localContents) question(at string, q perdure.NewQuestion) {
	switch {
	case k.err != nil:
	case k.local && q.Withheld == nil:
		k.err = perdure.FieldErrorf(at, "a LOCAL execution's content stays on its worker; send the reference to the question's content")
	case !k.local && q.Withheld != nil:
		k.err = perdure.FieldErrorf(at+".withheld", "is of LOCAL executions; send the question itself")
	}
	k.check(at+".details", q.Details, q.DetailsBlob)
}

// withholdOne is like withhold, but does nothing if the changes already contain the reference.
func (d *draft) withholdOne(ref perdure.BlobRef) error {
	if slices.Contains(d.c.Withhold, ref) {
		return nil
	}
	return d.withhold(ref)
}

// decisionsStored handles reports of the worker of a LOCAL execution. A report says that the worker
// has stored the answer to a question. decisionsStored then erases the server's copy of the answer.
// It ignores a report whose answer differs from the server's: such a report can be about an answer
// that a restore from a backup has removed. Errors: as for withhold.
func (d *draft) decisionsStored(all []perdure.StoredDecision) error {
	for _, s := range all {
		q := d.s.Questions[s.Question]
		if q == nil {
			continue
		}
		content := q.Decision().Encode()
		if content == nil || perdure.ContentRef(d.x.ID, content) != s.Ref(d.x.ID) {
			continue
		}
		if err := d.withholdOne(s.Ref(d.x.ID)); err != nil {
			return err
		}
		d.erase(q)
		d.question(q)
	}
	return nil
}

// erase removes the texts and values that people have written in the answer to a question of a
// LOCAL execution. Their hashes remain. It reports whether there were such texts or values. The
// caller adds the question's row to the changes.
func (d *draft) erase(q *perdure.Question) bool {
	erased := q.Erase()
	d.c.EraseAnswers = d.c.EraseAnswers || erased
	return erased
}

// eraseDecisions erases the answers to all questions of a LOCAL execution that ends, because no
// worker will read them. The state must contain the decided questions.
func (d *draft) eraseDecisions() {
	for _, q := range sortedQuestions(d.s.Questions) {
		if q.Status.Final() && d.erase(q) {
			d.question(q)
		}
	}
}

// approvedBare returns the SHA-256 of the bytes of the approved details in a LOCAL execution. It is
// compared with the hash of the task's input.
func approvedBare(q *perdure.Question) *perdure.Hash {
	if q.Edited() {
		sum := perdure.ContentRef(uuid.Nil, q.Details).SHA256
		return &sum
	}
	return &q.Withheld.BareSHA256
}
