package postgres

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// history is what this server knows of the newest transactions of its committers. A
// database that was put back as it was before, without a new timeline, has the epoch
// of before; the rows of the committers tell.
type history struct {
	mu    sync.Mutex // guards known
	known map[uuid.UUID]durable
}

// durable is a transaction that was committed.
type durable struct {
	number int64
	at     time.Time // by the database's clock
}

// note is called after each COMMIT that a committer was told of.
func (h *history) note(committer uuid.UUID, number int64, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known == nil {
		h.known = map[uuid.UUID]durable{}
	}
	h.known[committer] = durable{number, at}
}

// forget is called before the committers delete their rows.
func (h *history) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.known = nil
}

// expected returns the numbers that must be there, for rows that nobody has
// deleted as stale.
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

// compareHistory refuses a database in which a committer's row is missing or has a
// lower number than was committed. That is fatal: readers have seen what is not there.
func (d *database) compareHistory(ctx context.Context, conn *pgx.Conn) error {
	var now int64
	if err := conn.QueryRow(ctx, timeNow).Scan(&now); err != nil {
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
