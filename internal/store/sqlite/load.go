package sqlite

import (
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
func (t *transaction) load(org string, one candidate, l loadedExecution, n store.Needs) (*store.State, *known, error) {
	s := &store.State{
		Now: t.now, Execution: cloneExecution(l.row), Head: l.head, PickedTask: one.task,
		Tasks: map[uuid.UUID]*perdure.Task{}, Entries: map[uuid.UUID]perdure.EntryHead{}, Keyed: map[string]perdure.EntryHead{},
		Signals: map[string]*perdure.Signal{}, Blocks: map[perdure.BlockKey]*store.Block{}, Blobs: map[uuid.UUID]*store.Blob{},
	}
	k := &known{tasks: map[uuid.UUID]*perdure.Task{}, blocks: map[perdure.BlockKey]*store.Block{}}
	if one.task != nil {
		n.Tasks = append(n.Tasks[:len(n.Tasks):len(n.Tasks)], *one.task)
	}
	if l.row != nil {
		for _, step := range []func(uuid.UUID, store.Needs, *store.State, *known) error{t.loadTasks, t.loadEntries, t.loadSignals, t.loadBlocks, t.loadBlobs, t.loadLoads} {
			if err := step(one.execution, n, s, k); err != nil {
				return nil, nil, err
			}
		}
		if n.Retention {
			var err error
			if s.Retention, err = loadRetention(t.view, l.row); err != nil {
				return nil, nil, err
			}
		}
	}
	return s, k, t.loadOutside(org, n, s)
}

func (t *transaction) loadTasks(execution uuid.UUID, n store.Needs, s *store.State, k *known) error {
	for _, id := range n.Tasks {
		if _, seen := k.tasks[id]; seen {
			continue
		}
		task, err := loadTask(t.view, execution, id)
		if err != nil {
			return err
		}
		if k.tasks[id] = task; task != nil {
			s.Tasks[id] = cloneTask(task)
		}
	}
	query := tasksHeld
	switch {
	case n.OpenTasks:
		query = tasksOpen
	case !n.HeldTasks:
		return nil
	}
	tasks, err := loadTasks(t.view, query, []any{execution[:]}, false)
	for _, task := range tasks {
		k.tasks[task.ID], s.Tasks[task.ID] = task, cloneTask(task)
	}
	return err
}

func (t *transaction) loadEntries(execution uuid.UUID, n store.Needs, s *store.State, _ *known) error {
	for _, id := range n.Entries {
		head, found, err := loadEntryHead(t.view, entryHeadID, execution[:], id[:])
		if err != nil {
			return err
		}
		if found {
			s.Entries[id] = head
		}
	}
	for _, key := range n.EntryKeys {
		head, found, err := loadEntryHead(t.view, entryHeadKey, execution[:], key)
		if err != nil {
			return err
		}
		if found {
			s.Keyed[key] = head
		}
	}
	return nil
}

func (t *transaction) loadSignals(execution uuid.UUID, n store.Needs, s *store.State, _ *known) (err error) {
	for _, id := range n.SignalIDs {
		found, err := loadSignals(t.view, signalByID, []any{execution[:], id}, 1, nil)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			s.Signals[id] = &found[0]
		}
	}
	if len(n.Patterns) > 0 {
		if s.Pending, err = loadPending(t.view, execution, n.Patterns, -1, pendingLimit+len(n.SignalIDs)); err != nil {
			return err
		}
	}
	if n.Taken {
		s.Taken, err = loadTaken(t.view, execution)
	}
	return err
}

func (t *transaction) loadBlocks(execution uuid.UUID, n store.Needs, s *store.State, k *known) error {
	add := func(blocks []*store.Block, wanted func(*store.Block) bool) {
		for _, b := range blocks {
			if wanted(b) {
				before := *b
				k.blocks[b.Key], s.Blocks[b.Key] = &before, b
			}
		}
	}
	for _, key := range n.Blocks {
		blocks, err := loadBlocks(t.view, blockByKey, blockKey(execution, key)...)
		if err != nil {
			return err
		}
		add(blocks, func(*store.Block) bool { return true })
	}
	if n.AttemptBlocks {
		for id, task := range s.Tasks {
			if task.Status.Terminal() {
				continue
			}
			blocks, err := loadBlocks(t.view, blocksClosed, execution[:], id[:], int64(task.Attempt))
			if err != nil {
				return err
			}
			add(blocks, func(*store.Block) bool { return true })
		}
	}
	if len(n.TaskBlocks) == 0 && !n.OpenBlocks {
		return nil
	}
	tasks := map[uuid.UUID]bool{}
	for _, id := range n.TaskBlocks {
		tasks[id] = true
	}
	open, err := loadBlocks(t.view, blocksOpen, execution[:])
	add(open, func(b *store.Block) bool { return n.OpenBlocks || tasks[b.Key.TaskID] })
	return err
}

func (t *transaction) loadBlobs(execution uuid.UUID, n store.Needs, s *store.State, _ *known) error {
	for _, id := range n.Blobs {
		b, err := loadBlobRow(t.view, execution, id)
		if err != nil {
			return err
		}
		if b != nil {
			s.Blobs[id] = b
		}
	}
	if n.Withheld == 0 {
		return nil
	}
	return t.each(withheldBlobs, []any{execution[:], n.Withheld}, func(row func(...any) error) error {
		var b store.Blob
		err := row(blobScan(&b)...)
		s.Withheld = append(s.Withheld, b)
		return err
	})
}

// loadLoads loads what limits are decided on. It runs in the one transaction that
// writes, so that what it counts is exact.
func (t *transaction) loadLoads(_ uuid.UUID, n store.Needs, s *store.State, _ *known) (err error) {
	if n.Worker != nil {
		if s.Holds, err = loadHolding(t.view, *n.Worker); err != nil {
			return err
		}
	}
	org := s.Execution.Org
	if s.Keys, err = loadLoads(t.view, org, n.ConcurrencyKeys, runningOfKey, waitingOfKey, t.now); err != nil {
		return err
	}
	s.Queues, err = loadLoads(t.view, org, n.Queues, runningOnQueue, waitingOnQueue, t.now)
	return err
}

// loadOutside loads what does not belong to an execution.
func (t *transaction) loadOutside(org string, n store.Needs, s *store.State) (err error) {
	if n.Definition != nil {
		if s.Definition, err = loadDefinition(t.view, definitionByID, n.Definition[:], org); err != nil {
			return err
		}
	}
	if n.Slug != "" {
		if s.BySlug, err = loadDefinition(t.view, definitionBySlug, org, n.Slug); err != nil {
			return err
		}
	}
	if n.Idempotency != "" {
		if s.Idempotency, err = loadIdempotency(t.view, org, n.Idempotency, t.now); err != nil {
			return err
		}
	}
	if n.KeyID != nil {
		if s.Key, err = loadKey(t.view, keyByID, n.KeyID[:], org); err != nil {
			return err
		}
	}
	if n.Stream != "" {
		s.Stream, s.Producer, err = loadStreamFor(t.view, org, n.Stream, n.Producer)
	}
	return err
}
