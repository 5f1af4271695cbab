package local

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// withholdQuestions stores the contents of the questions in c on this worker, and replaces them by
// references. It also lists in c.Decisions the answers that this worker has stored, so that the
// server can erase its copies of them.
func withholdQuestions(b *Batch, k *executionState, c *perdure.Commit) {
	c.Questions = slices.Clone(c.Questions)
	for i, q := range c.Questions {
		asked, content := q.Withhold()
		b.Add(content)
		if asked.Details != nil {
			ref := b.Add(asked.Details)
			asked.Details, asked.DetailsBlob = nil, &ref
		}
		c.Questions[i] = asked
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	c.Decisions = slices.Clone(k.decided)
}

// decisionsErased removes from the list k.decided the answers of which the server has erased its copy.
func (k *executionState) decisionsErased(all []perdure.StoredDecision) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.decided = slices.DeleteFunc(k.decided, func(s perdure.StoredDecision) bool { return slices.Contains(all, s) })
}

// Questions implements [perdure.Dispatch]. For a LOCAL execution, it stores what people have
// written in the answers before it returns the questions, and fills in what the server has erased.
func (d *Dispatch) Questions(ctx context.Context, execution uuid.UUID, ids []uuid.UUID) ([]*perdure.Question, error) {
	questions, err := d.Dispatch.Questions(ctx, execution, ids)
	if err != nil {
		return nil, err
	}
	return questions, d.questions(ctx, execution, questions)
}

// questions stores what people have written in the answers to questions of a LOCAL execution, and
// fills in what the server has erased. The next commit tells the server which answers are stored.
func (d *Dispatch) questions(ctx context.Context, execution uuid.UUID, questions []*perdure.Question) error {
	k := d.of(execution)
	if k == nil {
		return nil
	}
	b := NewBatch(execution)
	var stored []perdure.StoredDecision
	for _, q := range questions {
		if q == nil || !q.Status.Final() {
			continue
		}
		if content := q.Decision().Encode(); content != nil {
			ref := b.Add(content)
			stored = append(stored, perdure.StoredDecision{
				Question: q.ID, WithheldContent: perdure.WithheldContent{SHA256: ref.SHA256, Bytes: ref.Length},
			})
		}
		if err := d.fillQuestion(ctx, execution, q); err != nil {
			return err
		}
	}
	if err := d.store.Write(ctx, b); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range stored {
		if !slices.Contains(k.decided, s) {
			k.decided = append(k.decided, s)
		}
	}
	return nil
}

// fillQuestion fills in what only this worker has of a final question: an answer that the server
// has erased, or the default answer of a question that has expired.
func (d *Dispatch) fillQuestion(ctx context.Context, execution uuid.UUID, q *perdure.Question) error {
	if q.Answer == nil {
		return nil
	}
	if q.Answer.Withheld != nil {
		raw, err := d.own(ctx, execution, *q.Answer.Withheld)
		if err != nil {
			return err
		}
		decision, err := perdure.DecodeDecision(raw)
		if err != nil {
			return err
		}
		decision.Fill(q)
	}
	if q.Withheld != nil && q.Status == perdure.QuestionExpired && q.Answer.Verdict == perdure.VerdictAnswer {
		raw, err := d.own(ctx, execution, q.Withheld.WithheldContent)
		if err != nil {
			return err
		}
		content, err := perdure.DecodeQuestionContent(raw)
		if err != nil {
			return err
		}
		q.Answer.Value = content.Default
	}
	return nil
}

// own reads a content that only this worker has. Errors: those of the method `content`.
func (d *Dispatch) own(ctx context.Context, execution uuid.UUID, w perdure.WithheldContent) (json.RawMessage, error) {
	ref := w.Ref(execution)
	var content json.RawMessage
	err := d.content(ctx, execution, &content, &ref)
	return content, err
}
