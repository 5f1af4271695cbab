package postgres

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// history records the number of the latest transaction of each committer of this server. The same
// numbers are in the committers' rows in the database. If a row is missing or has a lower number,
// the database was restored to an earlier state.
type history struct {
	mu    sync.Mutex // guards known
	known map[uuid.UUID]committedTransaction
}

// committedTransaction is the number and the time of a committed transaction.
type committedTransaction struct {
	number int64
	at     time.Time // by the database's clock
}

// note records a committed transaction. It must be called each time a committer has learned that its
// COMMIT succeeded.
func (h *history) note(committer uuid.UUID, number int64, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known == nil {
		h.known = map[uuid.UUID]committedTransaction{}
	}
	h.known[committer] = committedTransaction{number, at}
}

// forget drops all records. It must be called before the committers delete their rows from the
// database; otherwise the missing rows would look like a restore.
func (h *history) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.known = nil
}

// expected returns the minimum number that each committer's row must have. It leaves out committers
// whose rows may have been deleted as stale.
func (h *history) expected(now time.Time) map[uuid.UUID]int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	numbers := map[uuid.UUID]int64{}
	for id, d := range h.known {
		if now.Sub(d.at) < staleCommitter-time.Hour {
			numbers[id] = d.number
		}
	}
	return numbers
}

var errPutBack = errors.New("the database lacks a transaction that this server has committed")

// compareHistory returns an error and calls the function `fatal` if the row of a committer is
// missing, or has a lower number than the last transaction that the committer has committed. In
// that case, readers have seen data that the database no longer has.
func (d *database) compareHistory(ctx context.Context, conn *pgx.Conn) error {
	var now int64
	if err := conn.QueryRow(ctx, timeNow.Text()).Scan(&now); err != nil {
		return err
	}
	expected := d.history.expected(time.UnixMicro(now))
	if len(expected) == 0 {
		return nil
	}
	ids := make([][]byte, 0, len(expected))
	for id := range expected {
		ids = append(ids, id[:])
	}
	rows, err := conn.Query(ctx, "SELECT id, batch FROM committer WHERE id = ANY($1)", ids)
	if err != nil {
		return err
	}
	var (
		id     uuid.UUID
		number int64
	)
	_, err = pgx.ForEachRow(rows, []any{&id, &number}, func() error {
		if number >= expected[id] {
			delete(expected, id)
		}
		return nil
	})
	if err != nil || len(expected) == 0 {
		return err
	}
	err = unavailable(errPutBack, "the database was put back as it was before; the server has to start anew")
	if d.gone.CompareAndSwap(false, true) {
		d.fatal(err)
	}
	return err
}
