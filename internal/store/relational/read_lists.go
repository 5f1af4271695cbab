package relational

import (
	"context"
	"encoding/json"
	"math"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// Executions implements [store.Reader].
func (r *Reader) Executions(ctx context.Context, org string, f store.ExecutionFilter) (store.Page[*perdure.Execution], error) {
	where, args := executionFilter(r.Words, org, f)
	query := "SELECT x.number, coalesce(h.last_seq, 0), " + executionTable.list("x") +
		" FROM agent_execution x LEFT JOIN log_head h ON h.agent_execution_id = x.id" +
		" WHERE x.number < ? AND " + strings.Join(where, " AND ") + " ORDER BY x.number DESC LIMIT ?"
	return list(ctx, r, f.Cursor, f.Limit, math.MaxInt64, func(v view, before int64, limit int, add func(int64, *perdure.Execution) bool) error {
		return v.each(query, append(append([]any{before}, args...), limit), func(row func(...any) error) error {
			var (
				x             perdure.Execution
				number        int64
				input, output *uuid.UUID
			)
			err := row(append([]any{&number, &x.MaxSeq}, executionScan(&x, &input, &output)...)...)
			if err == nil && !add(number, &x) {
				err = ErrStop
			}
			return err
		})
	}, nothing[*perdure.Execution])
}

func nothing[T any](view, *T) (int, error) { return 0, nil }

func executionFilter(words *Words, org string, f store.ExecutionFilter) (where []string, args []any) {
	add := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	add("x.org_id = ?", org)
	add(hidden)
	if len(f.Status) > 0 {
		values := make([]any, len(f.Status))
		for i, status := range f.Status {
			values[i] = string(status)
		}
		add("x.status IN ("+marks(len(values))+")", values...)
	}
	if f.Kind != "" {
		add("x.kind = ?", f.Kind)
	}
	if f.DefinitionID != nil {
		add("x.agent_definition_id = ?", f.DefinitionID[:])
	}
	if f.CreatedAfter != nil {
		add("x.created_at > ?", millis(*f.CreatedAfter))
	}
	if f.CreatedBefore != nil {
		add("x.created_at < ?", millis(*f.CreatedBefore))
	}
	for key, value := range f.Metadata {
		condition, args := words.MetadataMember(key, value)
		add(condition, args...)
	}
	if f.Query != "" {
		plain, escaped := queryTexts(f.Query)
		condition, matched := words.QueryMatch(plain, escaped, strings.ReplaceAll(plain, "-", ""))
		add(condition, matched...)
	}
	return where, args
}

func queryTexts(query string) (plain, escaped string) {
	plain = lowerASCII(query)
	quoted, err := json.Marshal(query)
	if err != nil {
		return plain, plain // a string always encodes
	}
	return plain, lowerASCII(string(quoted[1 : len(quoted)-1]))
}

// lowerASCII is what SQLite's lower does.
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// Tasks implements [store.Reader].
func (r *Reader) Tasks(ctx context.Context, execution uuid.UUID, ids []uuid.UUID, lazy bool) ([]*perdure.Task, error) {
	tasks := make([]*perdure.Task, len(ids))
	err := r.read(ctx, func(v view) error {
		found, err := tasksByID(v, execution, ids)
		if err != nil {
			return err
		}
		for i, id := range ids {
			if tasks[i] = found[id]; tasks[i] == nil {
				continue
			}
			if _, err := r.joinTask(v, &tasks[i], lazy); err != nil {
				return err
			}
		}
		return nil
	})
	return tasks, err
}

// tasksByID reads tasks with their contents, in one statement whatever their number.
func tasksByID(v view, execution uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]*perdure.Task, error) {
	found := make(map[uuid.UUID]*perdure.Task, len(ids))
	query, args := taskWhole, []any{execution[:], nil}
	switch len(ids) {
	case 0:
		return found, nil
	case 1:
		args[1] = ids[0][:]
	default:
		list, err := v.words.IDs(ids)
		if err != nil {
			return nil, err
		}
		query, args[1] = tasksAmong+v.words.AmongIDs, list
	}
	tasks, err := loadTasks(v, query, args, true)
	for _, t := range tasks {
		found[t.ID] = t
	}
	return found, err
}

func (r *Reader) joinTask(v view, task **perdure.Task, lazy bool) (int, error) {
	t := *task
	if lazy {
		return 0, nil
	}
	if err := r.join(v, t.ExecutionID, &t.Input, &t.InputBlob); err != nil {
		return 0, err
	}
	err := r.join(v, t.ExecutionID, &t.Result, &t.ResultBlob)
	return store.Weight(t.Input, t.InputBlob) + store.Weight(t.Result, t.ResultBlob), err
}

// ListTasks implements [store.Reader].
func (r *Reader) ListTasks(ctx context.Context, execution uuid.UUID, steps bool, cursor string, limit int) (store.Page[*perdure.Task], error) {
	return list(ctx, r, cursor, limit, 0, func(v view, after int64, limit int, add func(int64, *perdure.Task) bool) error {
		tasks, numbers, err := loadTaskPage(v, execution, steps, after, limit)
		for i, t := range tasks {
			add(numbers[i], t)
		}
		return err
	}, func(v view, t **perdure.Task) (int, error) { return r.joinTask(v, t, false) })
}

// Definition implements [store.Reader].
func (r *Reader) Definition(ctx context.Context, org string, id uuid.UUID) (*perdure.Definition, error) {
	var d *perdure.Definition
	err := r.read(ctx, func(v view) (err error) {
		if d, err = loadDefinition(v, definitionByID, id[:], org); err == nil && d == nil {
			err = perdure.Errorf(perdure.NotFound, "there is no agent definition %s", id)
		}
		return err
	})
	return d, err
}

// DefinitionBySlug implements [store.Reader].
func (r *Reader) DefinitionBySlug(ctx context.Context, org, slug string) (*perdure.Definition, error) {
	var d *perdure.Definition
	err := r.read(ctx, func(v view) (err error) {
		if d, err = loadDefinition(v, definitionBySlug, org, slug); err == nil && d == nil {
			err = perdure.Errorf(perdure.NotFound, "there is no agent definition %q", slug)
		}
		return err
	})
	return d, err
}

// Definitions implements [store.Reader].
func (r *Reader) Definitions(ctx context.Context, org, cursor string, limit int) (store.Page[*perdure.Definition], error) {
	return list(ctx, r, cursor, limit, 0, func(v view, after int64, limit int, add func(int64, *perdure.Definition) bool) error {
		return v.each(definitionsFrom, []any{org, after, limit}, func(row func(...any) error) error {
			var (
				d      perdure.Definition
				number int64
			)
			err := row(definitionScan(&d, &number)...)
			if err == nil && !add(number, &d) {
				err = ErrStop
			}
			return err
		})
	}, nothing[*perdure.Definition])
}

// Kinds implements [store.Reader].
func (r *Reader) Kinds(ctx context.Context, org string) ([]store.Kind, error) {
	var kinds []store.Kind
	err := r.read(ctx, func(v view) (err error) {
		kinds, err = loadKinds(v, org)
		return err
	})
	return kinds, err
}

func loadKinds(v view, org string) (kinds []store.Kind, err error) {
	err = v.each(kindsOfOrg, []any{org}, func(row func(...any) error) error {
		var k store.Kind
		err := row(&k.Org, (*flagCol)(&k.Agent), &k.Spec.Kind, text[string]{&k.Spec.Description}, raw{&k.Spec.InputSchema}, decoded{&k.Spec.Providers}, decoded{&k.Spec.Endpoints}, (*timeCol)(&k.SeenAt))
		kinds = append(kinds, k)
		return err
	})
	return kinds, err
}
