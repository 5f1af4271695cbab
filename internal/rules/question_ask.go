package rules

import (
	"bytes"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// questionNeeds adds to n the questions that a commit asks, withdraws or waits for.
func questionNeeds(n *store.Needs, c perdure.Commit) {
	for _, q := range c.Questions {
		n.Questions = append(n.Questions, perdure.QuestionID(c.Lease.ExecutionID, q.Key))
		if q.DetailsBlob != nil {
			n.Blobs = append(n.Blobs, q.DetailsBlob.ID)
		}
	}
	n.Grants = slices.ContainsFunc(c.Questions, func(q perdure.NewQuestion) bool { return q.Grantable() })
	n.Questions = append(n.Questions, c.Withdraw...)
	localQuestionNeeds(n, c)
	if c.Outcome.Wait != nil {
		n.Questions = append(n.Questions, c.Outcome.Wait.Questions()...)
	}
}

// ask stores the new questions of a commit, and withdraws the questions that the commit lists in
// Withdraw. It adds the ids of all these questions to the reply. Errors: idempotency_key_reused,
// invalid_argument.
func (d *draft) ask(c perdure.Commit, a *CommitAnswer) error {
	for _, n := range c.Questions {
		id := perdure.QuestionID(d.x.ID, n.Key)
		if known := d.s.Questions[id]; known != nil {
			if err := sameQuestion(known, n); err != nil {
				return err
			}
		} else if err := d.askOne(id, n); err != nil {
			return err
		}
		a.addQuestion(id)
	}
	for _, id := range c.Withdraw {
		q := d.s.Questions[id]
		if q == nil {
			return noQuestionHere(d.x.ID, "withdraw", id)
		}
		if q.Status == perdure.QuestionOpen {
			d.withdraw(q, "the agent no longer needs an answer")
		}
		a.addQuestion(id)
	}
	d.closeUnused(c)
	return nil
}

func (a *CommitAnswer) addQuestion(id uuid.UUID) {
	if !slices.Contains(a.Questions, id) {
		a.Questions = append(a.Questions, id)
	}
}

func noQuestionHere(execution uuid.UUID, field string, id uuid.UUID) error {
	return perdure.FieldErrorf(field, "execution %s has no question %s", execution, id)
}

// sameQuestion checks that a new question equals the stored question with the same key. Otherwise
// the answer to the stored question could be used for a different one.
func sameQuestion(known *perdure.Question, n perdure.NewQuestion) error {
	if known.Kind == n.Kind && known.Subject == n.Subject && known.AskedSHA256() == n.DetailsSHA256 && sameValue(known.QuestionTerms, n.QuestionTerms) {
		return nil
	}
	return perdure.Errorf(perdure.IdempotencyKeyReused,
		"the key %q belongs to a question with another kind, subject, schema or details; use another name or an Instance", n.Key)
}

// sameValue reports whether two questions accept the same values. If a LOCAL execution has asked
// one of the questions, the server does not have its content, and sameValue compares hashes.
func sameValue(known, n perdure.QuestionTerms) bool {
	if known.Withheld != nil || n.Withheld != nil {
		return known.SameValue(n)
	}
	return EqualJSON(known.Schema, n.Schema) && slices.Equal(known.Choices, n.Choices)
}

// askOne stores a new question.
func (d *draft) askOne(id uuid.UUID, n perdure.NewQuestion) error {
	if d.local() {
		n.NoGrants = true // a grant would answer a question that its voter cannot see
		if err := d.withholdOne(n.Withheld.Ref(d.x.ID)); err != nil {
			return err
		}
		d.x.NeedsFeatures |= perdure.FeatureLocalQuestions
	}
	if err := d.useDetails(id, n.DetailsBlob); err != nil {
		return err
	}
	q := &perdure.Question{
		ID: id, ExecutionID: d.x.ID, Org: d.x.Org, Key: n.Key, QuestionTerms: n.QuestionTerms, EntryID: n.EntryID, CallID: n.CallID,
		Details: n.Details, DetailsBlob: n.DetailsBlob, DetailsSHA256: n.DetailsSHA256, Status: perdure.QuestionOpen, CreatedAt: d.s.Now, Place: d.placed(n.Place),
	}
	if n.NotAsker && d.x.Askers != nil {
		q.Askers = Askers(d.x, d.x.Askers)
	}
	if g := d.grantFor(n); g != nil {
		d.askGranted(q, g)
		return nil
	}
	if n.ExpiresAfter > 0 {
		at := d.s.Now.Add(n.ExpiresAfter)
		q.ExpiresAt = &at
		d.hint(Hint{Kind: HintDue})
	}
	if d.x.OpenQuestions >= perdure.MaxOpenQuestions {
		return perdure.FieldErrorf("questions", "execution %s has %d open questions, and no more are allowed; withdraw some, or wait for answers",
			d.x.ID, perdure.MaxOpenQuestions)
	}
	d.x.OpenQuestions++
	d.x.NeedsFeatures |= perdure.FeatureQuestions
	d.question(q)
	d.questionEvent(perdure.EventQuestionAsked, q, askedMembers(q))
	return nil
}

// useDetails adds the uploaded details of a question to the commit. Errors: as for useContent and
// withhold.
func (d *draft) useDetails(question uuid.UUID, ref *perdure.BlobRef) error {
	switch {
	case ref == nil:
		return nil
	case d.local():
		return d.withholdOne(*ref)
	}
	return d.useChecked(CheckedRef{Blob: ref.ID, Question: question}, ref)
}

func askedMembers(q *perdure.Question) map[string]any {
	members := map[string]any{"detailsSha256": q.DetailsSHA256, "needed": q.QuestionTerms.Votes()}
	if w := q.Withheld; w != nil {
		members["content"], members["contentBytes"], members["contentSha256"] = perdure.OnWorker, w.Bytes, w.SHA256
	} else {
		members["prompt"] = q.Prompt
	}
	if q.ExpiresAt != nil {
		members["expiresAt"] = q.ExpiresAt
	}
	if q.EntryID != nil {
		members["entryId"] = q.EntryID
	}
	return members
}

// question increases the version of a question, and adds the question's row to the changes. The
// changes contain each row only once.
func (d *draft) question(q *perdure.Question) {
	q.Version++
	if d.s.Questions == nil {
		d.s.Questions = map[uuid.UUID]*perdure.Question{}
	}
	d.s.Questions[q.ID] = q
	if len(d.c.Questions) == 0 {
		d.hint(Hint{Kind: HintQuestions, Org: d.x.Org})
	}
	if !slices.Contains(d.c.Questions, q) {
		d.c.Questions = append(d.c.Questions, q)
	}
}

// decide sets the final status and the answer of an open question.
func (d *draft) decide(q *perdure.Question, status perdure.QuestionStatus, answer *perdure.Answer) {
	now := d.s.Now
	q.Status, q.Answer, q.DecidedAt = status, answer, &now
	d.x.OpenQuestions--
	if d.local() && status != perdure.QuestionAnswered {
		d.erase(q) // no worker reads the texts that voters have written so far
	}
	d.question(q)
}

func (d *draft) withdraw(q *perdure.Question, why string) {
	d.decide(q, perdure.QuestionWithdrawn, nil)
	d.questionEvent(perdure.EventQuestionWithdrawn, q, map[string]any{"reason": why})
}

// withdrawOpen withdraws all open questions. The state must contain them.
func (d *draft) withdrawOpen(why string) {
	for _, q := range sortedQuestions(d.s.Questions) {
		if q.Status == perdure.QuestionOpen {
			d.withdraw(q, why)
		}
	}
}

// questionEvent appends an event of a question to the log.
func (d *draft) questionEvent(t perdure.EventType, q *perdure.Question, members map[string]any) {
	all := map[string]any{"questionId": q.ID, "kind": q.Kind, "subject": q.Subject, "status": q.Status, "version": q.Version}
	for k, v := range members {
		all[k] = v
	}
	place := q.Place
	place.ToolCallID = q.CallID
	d.event(t, place, all)
}

// sortedQuestions returns the questions, oldest first, so that a repeated call makes the same
// changes.
func sortedQuestions(questions map[uuid.UUID]*perdure.Question) []*perdure.Question {
	all := make([]*perdure.Question, 0, len(questions))
	for _, q := range questions {
		if q != nil {
			all = append(all, q)
		}
	}
	slices.SortFunc(all, func(a, b *perdure.Question) int {
		if c := a.CreatedAt.Compare(b.CreatedAt.Time); c != 0 {
			return c
		}
		return bytes.Compare(a.ID[:], b.ID[:])
	})
	return all
}
