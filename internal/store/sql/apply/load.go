package apply

import (
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/load/contents"
	"github.com/perdure/perdure/internal/store/sql/load/log"
	"github.com/perdure/perdure/internal/store/sql/load/tenant"
	"github.com/perdure/perdure/internal/store/sql/pick"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// known contains the rows as they were loaded, before the decision. A comparison with them shows
// which rows and columns the decision has changed, so that only those are written.
type known struct {
	tasks map[uuid.UUID]*load.TaskRow // the value nil means that there was no such task
	// questions are the column values of the loaded questions.
	questions map[uuid.UUID][]any
	// blockless reports that the execution has no blocks, so that no query for blocks is needed.
	blockless bool
	blocks    map[perdure.BlockKey]*store.Block
	places    map[uuid.UUID]load.TreePlace // places of the loaded entries in the tree
}

// load loads the state with which a command decides. The decision may change the state, because the
// state consists of copies; x is the copy of the execution's row.
func (t *Transaction) load(org string, one pick.Candidate, l load.ExecutionRow, x *perdure.Execution, n store.Needs) (*store.State, *known, error) {
	s := &store.State{
		Now: t.now, Nonce: t.nonce, Execution: x, Head: l.Head, PickedTask: one.Task,
		Tasks: map[uuid.UUID]*perdure.Task{}, Entries: map[uuid.UUID]perdure.EntryHead{}, Keyed: map[string]perdure.EntryHead{},
		Signals: map[string]*perdure.Signal{}, Blocks: map[perdure.BlockKey]*store.Block{}, Blobs: map[uuid.UUID]*store.Blob{},
	}
	k := &known{blockless: t.Blockless(one.Execution), tasks: map[uuid.UUID]*load.TaskRow{}, blocks: map[perdure.BlockKey]*store.Block{}, places: map[uuid.UUID]load.TreePlace{}}
	if one.Task != nil {
		n.Tasks = append(n.Tasks[:len(n.Tasks):len(n.Tasks)], *one.Task)
	}
	if one.Execution != uuid.Nil {
		var err error
		if s.Webhooks, err = t.wantedBy(org, l.Row); err != nil {
			return nil, nil, err
		}
	}
	var fs []func(statement.View) error
	if asksOutside(n) {
		fs = append(fs, func(v statement.View) error { return loadOutside(v, org, t.now, n, s) })
	}
	if l.Row != nil {
		s.Keys, s.Queues = map[string]store.Load{}, map[string]store.Load{}
		if len(n.Tasks) > 0 {
			fs = append(fs, func(v statement.View) error { return t.loadNamedTasks(v, l.Row, n, s, k) })
		}
		if len(n.Blocks) > 0 {
			fs = append(fs, func(v statement.View) error { return t.loadNamedBlocks(v, l.Row, n, s, k) })
		}
		if n.Worker != nil {
			fs = append(fs, func(v statement.View) error { return t.LoadWorker(v, *n.Worker, s) })
		}
		for _, part := range parts {
			if part.asked(&n) {
				fs = append(fs, func(v statement.View) error { return part.load(v, l.Row, n, s, k) })
			}
		}
	}
	if err := t.Hold(heldBy(org, l.Row, n)...); err != nil {
		return nil, nil, err
	}
	if err := t.Share(sharedBy(l.Row, n)...); err != nil {
		return nil, nil, err
	}
	if err := t.Together(fs...); err != nil {
		return s, k, err
	}
	if n.SignalKeys && l.Row != nil && excludesAskers(s) {
		if err := loadSignalKeys(t.View, l.Row, s); err != nil {
			return s, k, err
		}
	}
	if n.CallNames && l.Row != nil {
		if err := loadCallNames(t.View, l.Row.ID, n, s); err != nil {
			return s, k, err
		}
	}
	if err := loadUse(t.View, org, n, s); err != nil || !n.AttemptBlocks {
		return s, k, err
	}
	return s, k, loadAttemptBlocks(t.View, one.Execution, s, k)
}

// part is one kind of data that a command may need about its execution. Several parts may be loaded
// concurrently. The function `asked` reports whether a command needs the part.
type part struct {
	asked func(n *store.Needs) bool
	load  func(v statement.View, x *perdure.Execution, n store.Needs, s *store.State, k *known) error
}

var parts = []part{
	{func(n *store.Needs) bool { return n.OpenTasks || n.HeldTasks }, loadListedTasks},
	{func(n *store.Needs) bool { return len(n.Entries) > 0 }, loadEntries},
	{func(n *store.Needs) bool { return len(n.EntryKeys) > 0 }, loadKeyedEntries},
	{func(n *store.Needs) bool { return len(n.SignalIDs) > 0 }, loadNamedSignals},
	{func(n *store.Needs) bool { return len(n.Patterns) > 0 || n.Taken }, loadListedSignals},
	{func(n *store.Needs) bool { return len(n.TaskBlocks) > 0 || n.OpenBlocks }, loadListedBlocks},
	{func(n *store.Needs) bool { return len(n.Blobs) > 0 }, loadBlobs},
	{func(n *store.Needs) bool { return n.Withheld > 0 }, loadWithheld},
	{func(n *store.Needs) bool { return len(n.ConcurrencyKeys) > 0 }, loadKeys},
	{func(n *store.Needs) bool { return len(n.Queues) > 0 }, loadQueues},
	{func(n *store.Needs) bool { return n.Retention }, loadKept},
	{func(n *store.Needs) bool {
		return len(n.Questions) > 0 || n.OpenQuestions || n.DecidedQuestions || n.DueQuestions
	}, loadQuestions},
	{func(n *store.Needs) bool { return n.Grants }, loadGrants},
	{func(n *store.Needs) bool { return n.Link != nil || n.LinksOf != nil }, loadLinks},
}

// asksOutside reports whether the command needs data that belongs to no execution.
func asksOutside(n store.Needs) bool {
	return n.Definition != nil || n.Slug != "" || n.Idempotency != "" || n.KeyID != nil || n.Session != nil || n.Org || n.Conversation != "" || n.Stream != "" || n.Kinds || n.Grant != nil || n.Workers || n.Pause != "" || asksBulk(n) || asksWebhooks(n)
}

func (t *Transaction) loadNamedTasks(v statement.View, x *perdure.Execution, n store.Needs, s *store.State, k *known) error {
	return statement.ForEach(v, distinctIDs(n.Tasks), func(v statement.View, id uuid.UUID) error {
		task, err := t.Task(v, x.ID, id)
		if err != nil {
			return err
		}
		if k.tasks[id] = task; task != nil {
			s.Tasks[id] = cloneTask(task.Task)
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

func loadListedTasks(v statement.View, x *perdure.Execution, n store.Needs, s *store.State, k *known) error {
	query := tasksHeld
	if n.OpenTasks {
		query = tasksOpen
	}
	tasks, err := load.Tasks(v, query, []any{x.ID[:]}, false)
	for _, task := range tasks {
		k.tasks[task.ID], s.Tasks[task.ID] = load.RowOf(task), cloneTask(task)
	}
	return err
}

func loadEntries(v statement.View, x *perdure.Execution, n store.Needs, s *store.State, k *known) error {
	return statement.ForEach(v, n.Entries, func(v statement.View, id uuid.UUID) error {
		head, found, err := k.headWithPlace(v, entryHeadID, x.ID[:], id[:])
		if found {
			s.Entries[id] = head
		}
		return err
	})
}

func loadKeyedEntries(v statement.View, x *perdure.Execution, n store.Needs, s *store.State, k *known) error {
	return statement.ForEach(v, n.EntryKeys, func(v statement.View, key string) error {
		head, found, err := k.headWithPlace(v, entryHeadKey, x.ID[:], key)
		if found {
			s.Keyed[key] = head
		}
		return err
	})
}

func loadNamedSignals(v statement.View, x *perdure.Execution, n store.Needs, s *store.State, _ *known) (err error) {
	return statement.ForEach(v, n.SignalIDs, func(v statement.View, id string) error {
		found, err := load.Signals(v, load.SignalByID, []any{x.ID[:], id}, 1, nil)
		if err == nil && len(found) > 0 {
			s.Signals[id] = &found[0]
		}
		return err
	})
}

func loadListedSignals(v statement.View, x *perdure.Execution, n store.Needs, s *store.State, _ *known) (err error) {
	if len(n.Patterns) > 0 {
		if s.Pending, err = load.Pending(v, x.ID, n.Patterns, -1, pendingLimit+len(n.SignalIDs)); err != nil {
			return err
		}
	}
	if n.Taken {
		s.Taken, err = load.Taken(v, x.ID)
	}
	return err
}

// add adds a block to the state of the decision. It also keeps a copy of the block as it was loaded.
func (k *known) add(s *store.State, b *store.Block) {
	before := *b
	k.blocks[b.Key], s.Blocks[b.Key] = &before, b
}

func (t *Transaction) loadNamedBlocks(v statement.View, x *perdure.Execution, n store.Needs, s *store.State, k *known) error {
	return statement.ForEach(v, n.Blocks, func(v statement.View, key perdure.BlockKey) error {
		b, err := t.Block(v, x.ID, key)
		if b != nil {
			k.add(s, b)
		}
		return err
	})
}

func loadListedBlocks(v statement.View, x *perdure.Execution, n store.Needs, s *store.State, k *known) error {
	if k.blockless {
		return nil
	}
	open, err := log.Blocks(v, log.BlocksOpen, x.ID[:])
	for _, b := range open {
		if n.OpenBlocks || slices.Contains(n.TaskBlocks, b.Key.TaskID) {
			k.add(s, b)
		}
	}
	return err
}

// loadAttemptBlocks loads the blocks that the newest attempts of the loaded open tasks have closed.
func loadAttemptBlocks(v statement.View, execution uuid.UUID, s *store.State, k *known) error {
	var open []*perdure.Task
	for _, task := range s.Tasks {
		if !task.Status.Terminal() {
			open = append(open, task)
		}
	}
	return statement.ForEach(v, open, func(v statement.View, task *perdure.Task) error {
		blocks, err := log.Blocks(v, blocksClosed, execution[:], task.ID[:], int64(task.Attempt))
		for _, b := range blocks {
			k.add(s, b)
		}
		return err
	})
}

func loadBlobs(v statement.View, x *perdure.Execution, n store.Needs, s *store.State, _ *known) error {
	return statement.ForEach(v, n.Blobs, func(v statement.View, id uuid.UUID) error {
		b, err := contents.BlobRow(v, x.ID, id)
		if b != nil {
			s.Blobs[id] = b
		}
		return err
	})
}

func loadWithheld(v statement.View, x *perdure.Execution, n store.Needs, s *store.State, _ *known) error {
	return v.Each(withheldBlobs, []any{x.ID[:], n.Withheld}, func(row func(...any) error) error {
		var b store.Blob
		err := row(contents.BlobScan(&b)...)
		s.Withheld = append(s.Withheld, b)
		return err
	})
}

// loadKeys loads, for each concurrency key, the number of running tasks and whether tasks wait (see
// [store.Load]). Both remain exact until the transaction ends, because the keys are locked.
func loadKeys(v statement.View, x *perdure.Execution, n store.Needs, s *store.State, _ *known) (err error) {
	s.Keys, err = loadLoads(v, x.Org, n.ConcurrencyKeys, load.RunningOfKey, waitingOfKey, s.Now)
	return err
}

func loadQueues(v statement.View, x *perdure.Execution, n store.Needs, s *store.State, _ *known) (err error) {
	s.Queues, err = loadLoads(v, x.Org, n.Queues, load.RunningOnQueue, waitingOnQueue, s.Now)
	return err
}

func loadKept(v statement.View, x *perdure.Execution, _ store.Needs, s *store.State, _ *known) (err error) {
	s.Retention, err = loadRetention(v, x)
	return err
}

// loadOutside loads the requested data that belongs to no execution.
func loadOutside(v statement.View, org string, now perdure.Time, n store.Needs, s *store.State) (err error) {
	if n.Definition != nil {
		if s.Definition, err = tenant.Definition(v, tenant.DefinitionByID, n.Definition[:], org); err != nil {
			return err
		}
	}
	if n.Slug != "" {
		if s.BySlug, err = tenant.Definition(v, tenant.DefinitionBySlug, org, n.Slug); err != nil {
			return err
		}
	}
	if n.Idempotency != "" {
		if s.Idempotency, err = loadIdempotency(v, org, n.Idempotency, now); err != nil {
			return err
		}
	}
	if n.KeyID != nil {
		if s.Key, err = tenant.KeyRows.One(v, keyByID, n.KeyID[:], org); err != nil {
			return err
		}
	}
	if n.Session != nil {
		if s.Session, err = tenant.SessionRows.One(v, sessionByID, n.Session[:], org); err != nil {
			return err
		}
	}
	if n.Org {
		if s.Org, err = tenant.Org(v, org); err != nil {
			return err
		}
	}
	if n.Conversation != "" {
		if s.Conversation, err = load.ConversationRows.One(v, load.ConversationByID, n.Conversation, org); err != nil {
			return err
		}
	}
	if err = loadWorkers(v, org, n, s); err != nil {
		return err
	}
	if err = loadBulk(v, org, n, s); err != nil {
		return err
	}
	if n.Grant != nil {
		if s.Grant, err = tenant.GrantRows.One(v, tenant.GrantInOrg, n.Grant[:], org, column.Millis(now)); err != nil {
			return err
		}
	}
	if n.Kinds {
		if s.Kinds, err = load.Kinds(v, load.KindsOfOrg, org); err != nil {
			return err
		}
	}
	if n.Stream != "" {
		s.Stream, s.Producer, err = loadStreamFor(v, org, n.Stream, n.Producer)
	}
	if n.StreamCount && s.Stream == nil && err == nil {
		_, err = v.One(streamsOfOrg, []any{org}, &s.Streams)
	}
	if err != nil || !asksWebhooks(n) {
		return err
	}
	return loadWebhooks(v, org, now, n, s)
}
