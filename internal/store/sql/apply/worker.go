package apply

import (
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	upsertWorker  = statement.Declare(load.WorkerRows.UpsertStatement())
	seeWorker     = statement.Update("worker", statement.Columns("seen_at"), statement.Columns("org_id, id"))
	forgetWorkers = statement.Alone("DELETE FROM worker WHERE org_id = ?1 AND seen_at < ?2")
	workersOfOrg  = statement.Read("SELECT count(*) FROM worker WHERE org_id = ?")
	upsertPause   = statement.Declare(load.PauseRows.UpsertStatement())
	dropPause     = statement.Remove("queue_pause", statement.Columns("org_id, queue"))
	pausesOfOrg   = statement.Read("SELECT count(*) FROM queue_pause WHERE org_id = ?")
)

// loadWorkers loads the workers and paused queues that a command needs.
func loadWorkers(v statement.View, org string, n store.Needs, s *store.State) (err error) {
	if n.Workers {
		if _, err = v.One(workersOfOrg, []any{org}, &s.WorkerCount); err != nil {
			return err
		}
	}
	if n.Pause == "" {
		return nil
	}
	if s.Pause, err = load.PauseRows.One(v, load.PauseOfQueue, org, n.Pause); err != nil {
		return err
	}
	_, err = v.One(pausesOfOrg, []any{org}, &s.PauseCount)
	return err
}

// heldForWorkers returns the names to lock for a command that needs workers or paused queues.
func heldForWorkers(org string, n store.Needs) (names []string) {
	if n.Workers {
		names = append(names, "workers of "+org)
	}
	if n.Pause != "" {
		names = append(names, "paused queues of "+org)
	}
	return names
}

func (t *Transaction) applyWorkers(org string, ch *store.Changes) error {
	for _, w := range ch.Workers {
		if err := load.WorkerRows.Write(t.View, upsertWorker, w); err != nil {
			return err
		}
	}
	for _, id := range ch.SeenWorkers {
		if err := t.Write(seeWorker, column.Millis(t.now), org, id[:]); err != nil {
			return err
		}
	}
	if ch.ForgetWorkers != nil {
		if err := t.Write(forgetWorkers, org, column.Millis(*ch.ForgetWorkers)); err != nil {
			return err
		}
	}
	if p := ch.PauseQueue; p != nil {
		if err := load.PauseRows.Write(t.View, upsertPause, p); err != nil {
			return err
		}
	}
	if ch.ResumeQueue == "" {
		return nil
	}
	return t.Write(dropPause, org, ch.ResumeQueue)
}
