package e2e

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestChaosOfClocks runs only in the long form of the suite. It changes the clocks of servers and
// workers by up to an hour in either direction, without other faults. It checks that no worker
// loses or returns its work: leases end by the database's clock, and a worker measures the time of
// its leases with a monotonic clock.
func TestChaosOfClocks(t *testing.T) {
	if !chaosIsLong() {
		return // the program with the adjustable clock takes long to build
	}
	size := shortChaos
	size.turns, size.pause, size.lease = 20, "1.5", 10*time.Second
	size.kinds, size.faults, size.gap = clockFaults, 12, time.Second
	size.leases = true
	endure(t, size)
}

// watchLeases makes the database record each execution or task that goes from RUNNING back to PENDING, and
// each task that becomes INTERRUPTED. Each record means that a worker has lost or returned its work.
func (f *fleet) watchLeases() {
	f.t.Helper()
	f.execute(`CREATE TABLE taken (what TEXT NOT NULL);
		CREATE FUNCTION note_taken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			INSERT INTO taken VALUES (TG_TABLE_NAME || ' ' || NEW.id || ' was taken at ' || clock_timestamp());
			RETURN NULL;
		END $$;
		CREATE TRIGGER note_taken AFTER UPDATE ON agent_execution FOR EACH ROW
			WHEN (OLD.status = 'RUNNING' AND NEW.status = 'PENDING') EXECUTE FUNCTION note_taken();
		CREATE TRIGGER note_taken AFTER UPDATE ON task_execution FOR EACH ROW
			WHEN (OLD.status = 'RUNNING' AND NEW.status IN ('PENDING', 'INTERRUPTED')) EXECUTE FUNCTION note_taken()`)
}

// takenLeases returns what the database has recorded since watchLeases, and stops the recording.
func (f *fleet) takenLeases() (taken []string) {
	f.t.Helper()
	err := f.database(context.Background(), func(conn *pgx.Conn) error {
		rows, err := conn.Query(context.Background(), "SELECT what FROM taken")
		if err == nil {
			taken, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		return err
	})
	if err != nil {
		f.t.Error(err)
	}
	f.execute("DROP FUNCTION note_taken() CASCADE; DROP TABLE taken")
	return slices.Compact(taken)
}

func (f *fleet) execute(query string) {
	f.t.Helper()
	err := f.database(context.Background(), func(conn *pgx.Conn) error {
		_, err := conn.Exec(context.Background(), query)
		return err
	})
	if err != nil {
		f.t.Error(err)
	}
}
