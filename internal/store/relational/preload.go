package relational

import (
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// Statements for many executions at once, which are not SQLite's. The order of the
// locks is that of all who take them, so that none wait for each other.
var lockExecutions = "SELECT " + executionTable.list("x") + " FROM agent_execution x WHERE x.id = ANY(?) ORDER BY x.id"

const (
	headsByIDs = "SELECT h.agent_execution_id, h.last_seq, h.last_pos, h.epoch, " + headNonce + " FROM log_head h WHERE h.agent_execution_id = ANY(?)"
	goneByIDs  = "SELECT gone.agent_execution_id FROM pruning gone WHERE gone.agent_execution_id = ANY(?) AND gone.whole = 1"
	thereByIDs = "SELECT x.id FROM agent_execution x WHERE x.id = ANY(?) AND " + hidden
)

// preloaded is what Preload has read.
type preloaded struct {
	rows  map[uuid.UUID]loadedExecution
	refs  []func(view) error // to be read for them
	heads map[uuid.UUID]store.Head
	gone  []uuid.UUID // those that are being deleted
}

// Preload locks the rows of executions, and reads them for the commands that
// follow. All that it asks for goes over together, also after the locks. It returns
// the executions that are there and that other transactions hold.
func (t *Transaction) Preload(ids []uuid.UUID, also func(c Conn) error) (held []uuid.UUID, err error) {
	list, err := t.words.IDs(ids)
	if err != nil {
		return nil, err
	}
	p := preloaded{rows: make(map[uuid.UUID]loadedExecution, len(ids)), heads: make(map[uuid.UUID]store.Head, len(ids))}
	// Each statement sees what is committed when it begins. The first gives rows as
	// they are under the locks; what belongs to them is read when they are locked.
	err = t.together(
		func(v view) error { return p.lock(v, list) },
		func(v view) error { return also(v.Conn) },
		func(v view) error { return p.readHeads(v, list) },
		func(v view) (err error) {
			p.gone, err = idsOf(v, goneByIDs, list)
			return err
		},
	)
	if err != nil {
		return nil, err
	}
	maps.Copy(t.rows, p.whole())
	if len(p.refs) > 0 {
		if err := t.together(p.refs...); err != nil {
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
	if list, err = t.words.IDs(left); err != nil {
		return nil, err
	}
	held, err = idsOf(t.view, thereByIDs, list)
	for _, id := range left {
		if !slices.Contains(held, id) {
			t.rows[id] = loadedExecution{}
		}
	}
	return held, err
}

func (p *preloaded) lock(v view, list any) error {
	return v.each(lockExecutions+v.words.SkipLocked, []any{list}, func(row func(...any) error) error {
		var (
			x             perdure.Execution
			input, output *uuid.UUID
		)
		err := row(executionScan(&x, &input, &output)...)
		p.rows[x.ID] = loadedExecution{row: &x}
		p.refs = append(p.refs, refInto(x.ID, input, &x.InputBlob)...)
		p.refs = append(p.refs, refInto(x.ID, output, &x.OutputBlob)...)
		return err
	})
}

func (p *preloaded) readHeads(v view, list any) error {
	return v.each(headsByIDs, []any{list}, func(row func(...any) error) error {
		var (
			id uuid.UUID
			h  store.Head
		)
		err := row(&id, &h.LastSeq, &h.LastPos, (*unsigned)(&h.Epoch), (*nonceCol)(&h.Nonce))
		p.heads[id] = h
		return err
	})
}

// whole returns the rows with their heads; nil inside for one that is being deleted,
// which is there for nobody.
func (p *preloaded) whole() map[uuid.UUID]loadedExecution {
	for id, l := range p.rows {
		if h, has := p.heads[id]; has {
			l.head, l.hasHead, l.row.MaxSeq = h, true, h.LastSeq
			p.rows[id] = l
		}
	}
	for _, id := range p.gone {
		if _, locked := p.rows[id]; locked {
			p.rows[id] = loadedExecution{}
		}
	}
	return p.rows
}

func idsOf(v view, query string, list any) (ids []uuid.UUID, err error) {
	err = v.each(query, []any{list}, func(row func(...any) error) error {
		var id uuid.UUID
		err := row(&id)
		ids = append(ids, id)
		return err
	})
	return ids, err
}
