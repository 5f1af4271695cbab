package sqlite

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/relational"
)

const (
	// placesIndex is created when every entry has its place in the tree. Until then, places are
	// missing.
	placesIndex  = "idx_agent_entry_place"
	makePlaces   = "CREATE UNIQUE INDEX " + placesIndex + " ON agent_entry (agent_execution_id, segment, depth) WHERE depth > 0"
	placesThere  = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = '" + placesIndex + "')"
	setPlace     = "UPDATE agent_entry SET segment = ?, depth = ? WHERE number = ?"
	nextWithRows = "SELECT agent_execution_id FROM agent_entry WHERE agent_execution_id > ? ORDER BY agent_execution_id LIMIT 1"
	unplaced     = "SELECT EXISTS (SELECT 1 FROM agent_entry WHERE agent_execution_id = ? AND depth IS NULL)"
	// placesCommitted is the approximate number of places that one transaction writes.
	placesCommitted = 5000
)

// errNoPlaces refuses to read a file with entries that have no place yet.
var errNoPlaces = perdure.Errorf(perdure.Conflict, "the database is of another version of this program; start a server of this program on it first")

// placeEntries computes the places in the tree of entries that an older version has stored, some
// thousands per transaction. After an interruption, the next call continues.
func placeEntries(ctx context.Context, path string) (err error) {
	c, err := openConn(ctx, path, writing, "synchronous(full)", "cache_size(-65536)", "temp_store(file)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	v := view{conn: c, ctx: ctx}
	if there, err := v.hasPlaces(); err != nil || there {
		return err
	}
	p := placing{v: v}
	if err := p.all(); err != nil {
		return err
	}
	return c.once(ctx, makePlaces)
}

func (v view) hasPlaces() (there bool, err error) {
	var n int64
	_, err = v.one(placesThere, nil, &n)
	return n != 0, err
}

// placing writes places in transactions of limited size.
type placing struct {
	v       view
	written int // in the current transaction
}

func (p *placing) all() error {
	if _, err := p.v.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for last := uuid.Nil; ; {
		var next uuid.UUID
		found, err := p.v.one(nextWithRows, []any{last[:]}, &next)
		if err == nil && found {
			err = p.one(next)
		}
		if err != nil {
			_, undone := view{conn: p.v.conn, ctx: context.WithoutCancel(p.v.ctx)}.exec("ROLLBACK")
			return errors.Join(err, undone)
		}
		if !found {
			_, err = p.v.exec("COMMIT")
			return err
		}
		last = next
	}
}

func (p *placing) one(execution uuid.UUID) error {
	var some int64
	if _, err := p.v.one(unplaced, []any{execution[:]}, &some); err != nil || some == 0 {
		return err
	}
	return relational.PlaceEntries(p.v.ctx, p.v, words, execution, p.write)
}

func (p *placing) write(all []relational.Placed) error {
	for _, one := range all {
		if _, err := p.v.exec(setPlace, one.Segment, one.Depth, one.Number); err != nil {
			return err
		}
	}
	if p.written += len(all); p.written < placesCommitted {
		return nil
	}
	p.written = 0
	if _, err := p.v.exec("COMMIT"); err != nil {
		return err
	}
	_, err := p.v.exec("BEGIN IMMEDIATE")
	return err
}
