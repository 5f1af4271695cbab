package relational

import (
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// known is what rows were when they were loaded, so that only what a decision
// has changed is written.
type known struct {
	tasks  map[uuid.UUID]*perdure.Task // nil inside: there was none
	blocks map[perdure.BlockKey]*store.Block
}

// load gathers the state that a command decides on. What it hands out are
// copies.
func (t *Transaction) load(org string, one candidate, l loadedExecution, n store.Needs) (*store.State, *known, error) {
	s := &store.State{
		Now: t.now, Execution: cloneExecution(l.row), Head: l.head, PickedTask: one.task,
		Tasks: map[uuid.UUID]*perdure.Task{}, Entries: map[uuid.UUID]perdure.EntryHead{}, Keyed: map[string]perdure.EntryHead{},
		Signals: map[string]*perdure.Signal{}, Blocks: map[perdure.BlockKey]*store.Block{}, Blobs: map[uuid.UUID]*store.Blob{},
	}
	k := &known{tasks: map[uuid.UUID]*perdure.Task{}, blocks: map[perdure.BlockKey]*store.Block{}}
	if one.task != nil {
		n.Tasks = append(n.Tasks[:len(n.Tasks):len(n.Tasks)], *one.task)
	}
	fs := []func(view) error{func(v view) error { return loadOutside(v, org, t.now, n, s) }}
	if l.row != nil {
		for _, load := range []loader{loadNamedTasks, loadListedTasks, loadEntries, loadNamedSignals, loadListedSignals, loadNamedBlocks, loadListedBlocks, loadBlobs} {
			fs = append(fs, func(v view) error { return load(v, one.execution, n, s, k) })
		}
		fs = append(fs, func(v view) error { return loadLimits(v, t.now, n, s) })
	}
	if n.Retention && l.row != nil {
		fs = append(fs, func(v view) (err error) {
			s.Retention, err = loadRetention(v, l.row)
			return err
		})
	}
	if err := t.hold(heldBy(org, l.row, n)...); err != nil {
		return nil, nil, err
	}
	if err := t.together(fs...); err != nil {
		return s, k, err
	}
	if err := loadUse(t.view, org, n, s); err != nil || !n.AttemptBlocks {
		return s, k, err
	}
	return s, k, loadAttemptBlocks(t.view, one.execution, s, k)
}

// loader loads one kind of what a command needs. Loaders may run side by side.
type loader func(v view, execution uuid.UUID, n store.Needs, s *store.State, k *known) error

func loadNamedTasks(v view, execution uuid.UUID, n store.Needs, s *store.State, k *known) error {
	return forEach(v, distinctIDs(n.Tasks), func(v view, id uuid.UUID) error {
		task, err := loadTask(v, execution, id)
		if err != nil {
			return err
		}
		if k.tasks[id] = task; task != nil {
			s.Tasks[id] = cloneTask(task)
		}
		return nil
	})
}

func distinctIDs(ids []uuid.UUID) []uuid.UUID {
	var all []uuid.UUID
	seen := map[uuid.UUID]bool{}
	for _, id := range ids {
		if !seen[id] {
			seen[id], all = true, append(all, id)
		}
	}
	return all
}

func loadListedTasks(v view, execution uuid.UUID, n store.Needs, s *store.State, k *known) error {
	query := tasksHeld
	switch {
	case n.OpenTasks:
		query = tasksOpen
	case !n.HeldTasks:
		return nil
	}
	tasks, err := loadTasks(v, query, []any{execution[:]}, false)
	for _, task := range tasks {
		k.tasks[task.ID], s.Tasks[task.ID] = task, cloneTask(task)
	}
	return err
}

func loadEntries(v view, execution uuid.UUID, n store.Needs, s *store.State, _ *known) error {
	byID := func(v view) error {
		return forEach(v, n.Entries, func(v view, id uuid.UUID) error {
			head, found, err := loadEntryHead(v, entryHeadID, execution[:], id[:])
			if found {
				s.Entries[id] = head
			}
			return err
		})
	}
	byKey := func(v view) error {
		return forEach(v, n.EntryKeys, func(v view, key string) error {
			head, found, err := loadEntryHead(v, entryHeadKey, execution[:], key)
			if found {
				s.Keyed[key] = head
			}
			return err
		})
	}
	return v.together(byID, byKey)
}

func loadNamedSignals(v view, execution uuid.UUID, n store.Needs, s *store.State, _ *known) (err error) {
	return forEach(v, n.SignalIDs, func(v view, id string) error {
		found, err := loadSignals(v, signalByID, []any{execution[:], id}, 1, nil)
		if err == nil && len(found) > 0 {
			s.Signals[id] = &found[0]
		}
		return err
	})
}

func loadListedSignals(v view, execution uuid.UUID, n store.Needs, s *store.State, _ *known) (err error) {
	if len(n.Patterns) > 0 {
		if s.Pending, err = loadPending(v, execution, n.Patterns, -1, pendingLimit+len(n.SignalIDs)); err != nil {
			return err
		}
	}
	if n.Taken {
		s.Taken, err = loadTaken(v, execution)
	}
	return err
}

// add keeps a block for the decision, and as it was.
func (k *known) add(s *store.State, b *store.Block) {
	before := *b
	k.blocks[b.Key], s.Blocks[b.Key] = &before, b
}

func loadNamedBlocks(v view, execution uuid.UUID, n store.Needs, s *store.State, k *known) error {
	return forEach(v, n.Blocks, func(v view, key perdure.BlockKey) error {
		blocks, err := loadBlocks(v, blockByKey, blockKey(execution, key)...)
		for _, b := range blocks {
			k.add(s, b)
		}
		return err
	})
}

func loadListedBlocks(v view, execution uuid.UUID, n store.Needs, s *store.State, k *known) error {
	if len(n.TaskBlocks) == 0 && !n.OpenBlocks {
		return nil
	}
	open, err := loadBlocks(v, blocksOpen, execution[:])
	for _, b := range open {
		if n.OpenBlocks || slices.Contains(n.TaskBlocks, b.Key.TaskID) {
			k.add(s, b)
		}
	}
	return err
}

// loadAttemptBlocks loads what the newest attempts of the tasks that are loaded
// have closed.
func loadAttemptBlocks(v view, execution uuid.UUID, s *store.State, k *known) error {
	var open []*perdure.Task
	for _, task := range s.Tasks {
		if !task.Status.Terminal() {
			open = append(open, task)
		}
	}
	return forEach(v, open, func(v view, task *perdure.Task) error {
		blocks, err := loadBlocks(v, blocksClosed, execution[:], task.ID[:], int64(task.Attempt))
		for _, b := range blocks {
			k.add(s, b)
		}
		return err
	})
}

func loadBlobs(v view, execution uuid.UUID, n store.Needs, s *store.State, _ *known) error {
	err := forEach(v, n.Blobs, func(v view, id uuid.UUID) error {
		b, err := loadBlobRow(v, execution, id)
		if b != nil {
			s.Blobs[id] = b
		}
		return err
	})
	if err != nil || n.Withheld == 0 {
		return err
	}
	return v.each(withheldBlobs, []any{execution[:], n.Withheld}, func(row func(...any) error) error {
		var b store.Blob
		err := row(blobScan(&b)...)
		s.Withheld = append(s.Withheld, b)
		return err
	})
}

// loadLimits loads what limits are decided on. What it counts is held until the
// transaction ends, so that it is exact.
func loadLimits(v view, now perdure.Time, n store.Needs, s *store.State) error {
	org := s.Execution.Org
	return v.together(
		func(v view) (err error) {
			if n.Worker != nil {
				s.Holds, err = loadHolding(v, *n.Worker)
			}
			return err
		},
		func(v view) (err error) {
			s.Keys, err = loadLoads(v, org, n.ConcurrencyKeys, runningOfKey, waitingOfKey, now)
			return err
		},
		func(v view) (err error) {
			s.Queues, err = loadLoads(v, org, n.Queues, runningOnQueue, waitingOnQueue, now)
			return err
		},
	)
}

// loadOutside loads what does not belong to an execution.
func loadOutside(v view, org string, now perdure.Time, n store.Needs, s *store.State) (err error) {
	if n.Definition != nil {
		if s.Definition, err = loadDefinition(v, definitionByID, n.Definition[:], org); err != nil {
			return err
		}
	}
	if n.Slug != "" {
		if s.BySlug, err = loadDefinition(v, definitionBySlug, org, n.Slug); err != nil {
			return err
		}
	}
	if n.Idempotency != "" {
		if s.Idempotency, err = loadIdempotency(v, org, n.Idempotency, now); err != nil {
			return err
		}
	}
	if n.KeyID != nil {
		if s.Key, err = loadKey(v, keyByID, n.KeyID[:], org); err != nil {
			return err
		}
	}
	if n.Stream != "" {
		s.Stream, s.Producer, err = loadStreamFor(v, org, n.Stream, n.Producer)
	}
	return err
}
