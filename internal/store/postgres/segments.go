package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/relational"
)

const (
	// placesIndex is the name of the index once every entry has its place in the tree. The
	// migration creates it as placingIndex.
	placesIndex  = "idx_agent_entry_place"
	placingIndex = "idx_agent_entry_placing"
	finishPlaces = "ALTER INDEX " + placingIndex + " RENAME TO " + placesIndex
	placesThere  = "SELECT to_regclass('" + placesIndex + "') IS NOT NULL"
	setPlaces    = "UPDATE agent_entry e SET segment = u.s, depth = u.d FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS u (n, s, d)" +
		" WHERE e.agent_execution_id = $1 AND e.number = u.n AND e.number > 0 AND e.number BETWEEN $5 AND $6" // prevents plans that read the whole execution
	nextPlaced = "SELECT id FROM agent_execution WHERE id > $1 ORDER BY id LIMIT 100"
	lockPlaced = "SELECT 1 FROM agent_execution WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE"
	unplaced   = "SELECT DISTINCT agent_execution_id FROM agent_entry WHERE agent_execution_id = ANY($1) AND number > 0 AND depth IS NULL"
)

// checkPlaces returns an error if the database has entries that have no place yet.
func checkPlaces(ctx context.Context, conn *pgx.Conn) error {
	var there bool
	if err := conn.QueryRow(ctx, placesThere).Scan(&there); err != nil || there {
		return err
	}
	return perdure.Errorf(perdure.Conflict, "the change of the tables to this version was interrupted; perdure migrate finishes it")
}

// placeEntries computes the places in the tree of entries that an older version has stored, one
// execution at a time, while servers are working. The caller must hold the migration lock. After an
// interruption, the next call continues.
func placeEntries(ctx context.Context, conn *pgx.Conn) error {
	var there bool
	if err := conn.QueryRow(ctx, placesThere).Scan(&there); err != nil || there {
		return err
	}
	if _, err := conn.Exec(ctx, "SELECT set_config('lock_timeout', $1, false), set_config('statement_timeout', '0', false)", migrationLock); err != nil {
		return err
	}
	if err := placeAll(ctx, conn); err != nil {
		return err
	}
	return patiently(ctx, func() error {
		_, err := conn.Exec(ctx, finishPlaces)
		return err
	})
}

// placeAll computes the missing places. Its transactions become durable together with the next
// durable one.
func placeAll(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, "SET synchronous_commit = off"); err != nil {
		return err
	}
	for last := uuid.Nil; ; {
		ids, err := idsOf(ctx, conn, nextPlaced, last[:])
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			_, err := conn.Exec(ctx, "RESET synchronous_commit")
			return err
		}
		last = ids[len(ids)-1]
		if ids, err = idsOf(ctx, conn, unplaced, rawIDs(ids)); err != nil {
			return err
		}
		if len(ids) == 0 {
			continue
		}
		if err := patiently(ctx, func() error { return placeSome(ctx, conn, ids) }); err != nil {
			return err
		}
	}
}

func idsOf(ctx context.Context, conn *pgx.Conn, query string, arg any) (ids []uuid.UUID, err error) {
	rows, err := conn.Query(ctx, query, arg)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (id uuid.UUID, err error) {
		err = row.Scan((*[16]byte)(&id))
		return id, err
	})
}

// placeSome computes the places of the entries of some executions. It locks the executions, so that
// no server writes to them meanwhile.
func placeSome(ctx context.Context, conn *pgx.Conn, ids []uuid.UUID) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockPlaced, rawIDs(ids)); err != nil {
			return err
		}
		for _, id := range ids {
			err := relational.PlaceEntries(ctx, &plain{conn: conn}, words, id, func(all []relational.Placed) error {
				if len(all) == 0 {
					return nil
				}
				numbers, segments, depths := make([]int64, len(all)), make([]int64, len(all)), make([]int64, len(all))
				for i, one := range all {
					numbers[i], segments[i], depths[i] = one.Number, one.Segment, one.Depth
				}
				_, err := tx.Exec(ctx, setPlaces, id[:], numbers, segments, depths, numbers[0], numbers[len(numbers)-1])
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}
