package read

import (
	"context"
	"math"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/read/base"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	questionList = "SELECT number, " + load.QuestionRows.List("") + " FROM question WHERE "
	newestFirst  = " AND number < ? ORDER BY number DESC LIMIT ?"
	questionsOf  = statement.Read(questionList + "org_id = ? AND agent_execution_id = ? AND number > 0" + newestFirst)
	questionsAll = statement.Read(questionList + "org_id = ?" + newestFirst)
	// questionsOpen lists only open questions.
	questionsOpen = statement.Read(questionList + "org_id = ? AND status = 'open'" + newestFirst)
	countOpen     = statement.Read("SELECT count(*) FROM (SELECT 1 FROM question WHERE org_id = ? AND status = 'open' LIMIT ?) AS found")
)

func questionsAmong(w *statement.Dialect) *statement.Statement {
	return statement.NewAlone("SELECT " + load.QuestionRows.List("q") + " FROM " + w.AmongIDs("question", "q"))
}

// Question implements [store.QuestionReader].
func (r *Reader) Question(ctx context.Context, org string, id uuid.UUID) (*perdure.Question, error) {
	return base.Find(ctx, r.Source, func(v statement.View) (*perdure.Question, error) {
		q, err := load.QuestionRows.One(v, load.QuestionInOrg, id[:], org)
		if err != nil {
			return nil, err
		}
		return q, load.CompleteQuestions(v, q)
	}, "there is no question %s", id)
}

// QuestionsOf implements [store.QuestionReader].
func (r *Reader) QuestionsOf(ctx context.Context, execution uuid.UUID, ids []uuid.UUID) ([]*perdure.Question, error) {
	all := make([]*perdure.Question, len(ids))
	if len(ids) == 0 {
		return all, nil
	}
	list, err := r.Dialect.IDs(ids)
	if err != nil {
		return nil, err
	}
	found, err := base.Get(ctx, r.Source, func(v statement.View) ([]*perdure.Question, error) {
		return load.Questions(v, questionsAmong(r.Dialect), execution[:], list)
	})
	for _, q := range found {
		for i := range ids {
			if ids[i] == q.ID {
				all[i] = q
			}
		}
	}
	return all, err
}

// Questions implements [store.QuestionReader].
func (r *Reader) Questions(ctx context.Context, org string, f store.QuestionFilter) (store.Page[*perdure.Question], error) {
	var page store.Page[*perdure.Question]
	before, err := base.ParseListCursor(f.Cursor, math.MaxInt64)
	if err != nil {
		return page, err
	}
	limit, rows := base.PageLimit(f.Limit), r.ListRows
	if rows == 0 {
		rows = store.ListRows
	}
	query, args := questionsFrom(org, f)
	err = r.Read(ctx, func(v statement.View) error {
		examined, bytes := 0, 0
		err := v.Each(query, append(args, before, rows+1), func(row func(...any) error) error {
			var (
				q      perdure.Question
				number int64
			)
			if err := row(load.QuestionRows.Scan([]any{&number}, &q)...); err != nil {
				return err
			}
			if examined++; examined > rows || len(page.Items) == limit || bytes > store.PageBytes {
				page.Next = base.ListCursor(before)
				return statement.ErrStop
			}
			if before = number; f.Selects(&q) {
				page.Items = append(page.Items, &q)
				bytes += questionSize(&q)
			}
			return nil
		})
		if err != nil {
			return err
		}
		return load.CompleteQuestions(v, page.Items...)
	})
	return page, err
}

// questionSize returns roughly how many bytes a question adds to a page.
func questionSize(q *perdure.Question) int {
	n := load.AskedBytes(q)
	if q.Answer != nil {
		n += len(q.Answer.Value) + len(q.Answer.Reason)
	}
	for i := range q.Votes {
		n += len(q.Votes[i].Value) + len(q.Votes[i].Reason)
	}
	return n
}

// questionsFrom returns the statement that examines the fewest rows for a filter, and its first
// arguments.
func questionsFrom(org string, f store.QuestionFilter) (*statement.Statement, []any) {
	switch {
	case f.ExecutionID != nil:
		return questionsOf, []any{org, f.ExecutionID[:]}
	case len(f.Status) > 0 && !slices.ContainsFunc(f.Status, perdure.QuestionStatus.Final):
		return questionsOpen, []any{org}
	}
	return questionsAll, []any{org}
}

// OpenQuestions implements [store.QuestionReader].
func (r *Reader) OpenQuestions(ctx context.Context, org string, most int) (n int, err error) {
	err = r.Read(ctx, func(v statement.View) error {
		_, err := v.One(countOpen, []any{org, most}, &n)
		return err
	})
	return n, err
}
