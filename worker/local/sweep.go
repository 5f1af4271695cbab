package local

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// sweepPause is the pause between two requests to the server during a sweep.
const sweepPause = 10 * time.Millisecond

// Sweep asks the server about every execution in the store. It drops the contents of an execution
// that has become REMOTE, or that the server does not know any more. But if the server knows no
// LOCAL execution of this worker at all, it may be the wrong server, or may map the worker's key to
// another org. Then Sweep keeps the contents of executions that the server does not know. Errors:
// errors of the server and the store. After an error, the next sweep starts from the beginning.
func (d *Dispatch) Sweep(ctx context.Context) error {
	var unknown []uuid.UUID
	ours := false
	for after := uuid.Nil; ; {
		id, err := d.store.next(ctx, after)
		if err != nil {
			return err
		}
		if id == uuid.Nil {
			break
		}
		after = id
		x, err := d.Dispatch.Execution(ctx, id)
		switch {
		case perdure.IsCode(err, perdure.NotFound):
			unknown = append(unknown, id)
		case err != nil:
			return err
		case x.PersistenceMode != perdure.Local:
			if err := d.drop(ctx, id); err != nil {
				return err
			}
		case x.HomeID != nil && *x.HomeID == d.store.id:
			ours = true
		}
		if err := pause(ctx, sweepPause); err != nil {
			return err
		}
	}
	if !ours {
		return nil
	}
	for _, id := range unknown {
		if err := d.drop(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// drop removes an execution from the LOCAL executions in memory, and then deletes its contents from the
// store.
func (d *Dispatch) drop(ctx context.Context, execution uuid.UUID) error {
	d.release(execution)
	err := d.store.Drop(ctx, execution)
	if err == nil {
		d.logger.InfoContext(ctx, "the content of an execution is needed here no longer, and was deleted", "execution", execution)
	}
	return err
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// next returns the next execution for which the store has data: the smallest id that is greater
// than `after`, or uuid.Nil if there is none.
func (s *Store) next(ctx context.Context, after uuid.UUID) (id uuid.UUID, err error) {
	var raw []byte
	err = s.readers.QueryRowContext(ctx, `SELECT MIN(id) FROM (
		SELECT MIN(execution) AS id FROM contents WHERE execution > ?1
		UNION ALL SELECT MIN(execution) FROM names WHERE execution > ?1
		UNION ALL SELECT MIN(execution) FROM shown WHERE execution > ?1)`, after[:]).Scan(&raw)
	copy(id[:], raw)
	return id, unreadable(ctx, err)
}
