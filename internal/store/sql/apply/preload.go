package apply

import (
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/load/contents"
	"github.com/perdure/perdure/internal/store/sql/load/log"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// lockExecutions locks and reads the rows of many executions, in the order of their ids, so that
// transactions cannot deadlock. SQLite does not use the statements of this file.
var lockExecutions = "SELECT " + load.ExecutionRows.List("x") + " FROM agent_execution x WHERE x.id = ANY(?) ORDER BY x.id"

var (
	headsByIDs = statement.Alone("SELECT h.agent_execution_id, " + log.HeadColumns + " FROM log_head h WHERE h.agent_execution_id = ANY(?)")
	goneByIDs  = statement.Alone("SELECT gone.agent_execution_id FROM pruning gone WHERE gone.agent_execution_id = ANY(?) AND gone.whole = 1")
	thereByIDs = statement.Alone("SELECT x.id FROM agent_execution x WHERE x.id = ANY(?) AND " + load.Hidden)
)

// preloaded contains the rows that Preload has read, for later commands of the transaction.
type preloaded struct {
	rows  map[uuid.UUID]load.ExecutionRow
	refs  []func(statement.View) error // functions that load the references to blobs that the rows contain
	heads map[uuid.UUID]store.Head
	gone  []uuid.UUID // ids of executions that are being deleted
}

// Preload locks the rows of executions and reads them for the commands that follow. In the same
// round trip, after the locking statement, it sends the statements of the function `also`. It
// returns the ids of the executions that other transactions have locked.
func (t *Transaction) Preload(ids []uuid.UUID, also func(c statement.Conn) error) (held []uuid.UUID, err error) {
	list, err := t.Dialect.IDs(ids)
	if err != nil {
		return nil, err
	}
	p := preloaded{rows: make(map[uuid.UUID]load.ExecutionRow, len(ids)), heads: make(map[uuid.UUID]store.Head, len(ids))}
	// The locking statement comes first: a statement sees what was committed when the statement
	// began, and nobody can change the data of the executions once they are locked.
	err = t.Together(
		func(v statement.View) error { return p.lock(v, list) },
		func(v statement.View) error { return also(v.Conn) },
		func(v statement.View) error { return p.readHeads(v, list) },
		func(v statement.View) (err error) {
			p.gone, err = idsOf(v, goneByIDs, list)
			return err
		},
	)
	if err != nil {
		return nil, err
	}
	maps.Copy(t.Rows, p.whole())
	if len(p.refs) > 0 {
		if err := t.Together(p.refs...); err != nil {
			return nil, err
		}
	}
	left := slices.DeleteFunc(slices.Clone(ids), func(id uuid.UUID) bool {
		_, locked := p.rows[id]
		return locked
	})
	if len(left) == 0 {
		return nil, nil
	}
	if list, err = t.Dialect.IDs(left); err != nil {
		return nil, err
	}
	held, err = idsOf(t.View, thereByIDs, list)
	for _, id := range left {
		if !slices.Contains(held, id) {
			t.Rows[id] = load.ExecutionRow{}
		}
	}
	return held, err
}

func (p *preloaded) lock(v statement.View, list any) error {
	return v.Each(statement.NewAlone(lockExecutions+v.Dialect.SkipLocked), []any{list}, func(row func(...any) error) error {
		var x perdure.Execution
		err := row(load.ExecutionRows.Scan(nil, &x)...)
		p.rows[x.ID] = load.ExecutionRow{Row: &x}
		p.refs = append(p.refs, contents.CompleteRefs(x.ID, x.InputBlob, x.OutputBlob)...)
		return err
	})
}

func (p *preloaded) readHeads(v statement.View, list any) error {
	return v.Each(headsByIDs, []any{list}, func(row func(...any) error) error {
		var (
			id uuid.UUID
			h  store.Head
		)
		err := row(append([]any{&id}, log.HeadInto(&h)...)...)
		p.heads[id] = h
		return err
	})
}

// whole returns the rows with the heads of their logs. For an execution that is being deleted, the
// value is empty, because such an execution must not be visible.
func (p *preloaded) whole() map[uuid.UUID]load.ExecutionRow {
	for id, l := range p.rows {
		if h, has := p.heads[id]; has {
			l.Head, l.HasHead, l.Row.MaxSeq = h, true, h.LastSeq
			p.rows[id] = l
		}
	}
	for _, id := range p.gone {
		if _, locked := p.rows[id]; locked {
			p.rows[id] = load.ExecutionRow{}
		}
	}
	return p.rows
}

func idsOf(v statement.View, query *statement.Statement, list any) (ids []uuid.UUID, err error) {
	err = v.Each(query, []any{list}, func(row func(...any) error) error {
		var id uuid.UUID
		err := row(&id)
		ids = append(ids, id)
		return err
	})
	return ids, err
}
