package apply

import (
	"errors"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

func (t *Transaction) applyQuestions(id uuid.UUID, k *known, ch *store.Changes) error {
	for _, q := range ch.Questions {
		if q.ExecutionID != id {
			return errors.New("a command wrote a question of another execution")
		}
		if err := t.putQuestion(k.questions[q.ID], q); err != nil {
			return err
		}
	}
	t.erased = t.erased || ch.EraseAnswers
	return nil
}

// putQuestion inserts a question, or writes the changed columns of an existing one. The parameter
// `before` contains the column values of the stored row; it is nil for a new question.
func (t *Transaction) putQuestion(before []any, q *perdure.Question) error {
	stored := *q
	details := planContent(q.Details, q.DetailsBlob)
	if before != nil {
		// Edited details are small enough to be stored in the row, so no new blob is needed.
		details = content{inline: q.Details, ref: q.DetailsBlob}
	}
	stored.Details, stored.DetailsBlob = details.inline, details.ref
	values, err := load.QuestionRows.Values(&stored)
	if err != nil {
		return err
	}
	if before != nil {
		return load.QuestionRows.Update(t.View, before, values)
	}
	if err := load.QuestionRows.Insert(t.View, values); err != nil {
		return err
	}
	return spill(t.View, q.ExecutionID, t.now, details)
}

func loadQuestions(v statement.View, x *perdure.Execution, n store.Needs, s *store.State, k *known) error {
	s.Questions, k.questions = map[uuid.UUID]*perdure.Question{}, map[uuid.UUID][]any{}
	add := func(found []*perdure.Question, err error) error {
		for _, q := range found {
			if err == nil {
				loaded := *q // a copy, because the decision may modify q
				s.Questions[q.ID] = q
				k.questions[q.ID], err = load.QuestionRows.Values(&loaded)
			}
		}
		return err
	}
	err := statement.ForEach(v, distinctIDs(n.Questions), func(v statement.View, id uuid.UUID) error {
		return add(load.Questions(v, load.QuestionByID, x.ID[:], id[:]))
	})
	if err != nil {
		return err
	}
	if n.OpenQuestions {
		if err := add(load.Questions(v, load.OpenQuestions, x.ID[:])); err != nil {
			return err
		}
	}
	if n.DecidedQuestions {
		if err := add(load.Questions(v, load.DecidedQuestions, x.ID[:])); err != nil {
			return err
		}
	}
	if n.DueQuestions {
		return add(load.Questions(v, load.DueQuestions, x.ID[:], column.Millis(s.Now)))
	}
	return nil
}

// excludesAskers reports whether the decision needs the API keys that have sent signals to the
// execution: one of the loaded questions has NotAsker set, but was asked before servers recorded
// its Askers.
func excludesAskers(s *store.State) bool {
	for _, q := range s.Questions {
		if q.NotAsker && q.Askers == nil {
			return true
		}
	}
	return false
}

func loadSignalKeys(v statement.View, x *perdure.Execution, s *store.State) error {
	return v.Each(load.SignalKeys, []any{x.ID[:], store.AskerLimit}, func(row func(...any) error) error {
		var key *uuid.UUID
		err := row(column.OptIDInto(&key))
		if key == nil {
			key = &uuid.UUID{}
		}
		s.SignalKeys = append(s.SignalKeys, *key)
		return err
	})
}

// questionBytes returns the number of bytes that a write of a question adds to the stored data: for
// the first version, the question without its answer; for the version with the answer, only the
// answer. A later write, which only sets TaskID, adds nothing.
func questionBytes(q *perdure.Question) int {
	n := 0
	if q.Version == 1 {
		n += load.AskedBytes(q)
	}
	if q.Status.Final() && q.Answer != nil && q.TaskID == nil {
		n += len(q.Answer.Value) + len(q.Answer.Reason)
	}
	return n
}
