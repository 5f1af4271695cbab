package relational

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// keys declares the rows of the table of API keys.
var keys = newRows("api_key", 1, []field[perdure.APIKey]{
	idField("id", func(x *perdure.APIKey) *uuid.UUID { return &x.ID }),
	textField("org_id", func(x *perdure.APIKey) *string { return &x.Org }),
	textField("name", func(x *perdure.APIKey) *string { return &x.Name }),
	textField("role", func(x *perdure.APIKey) *perdure.KeyRole { return &x.Role }),
	hashField("hash", func(x *perdure.APIKey) *perdure.Hash { return &x.Hash }),
	timeField("created_at", func(x *perdure.APIKey) *perdure.Time { return &x.CreatedAt }),
	optTimeField("revoked_at", func(x *perdure.APIKey) **perdure.Time { return &x.RevokedAt }),
	numberField("requests_per_second", func(x *perdure.APIKey) *int64 { return &x.Limits.RequestsPerSecond }),
	numberField("max_running", func(x *perdure.APIKey) *int64 { return &x.Limits.MaxRunning }),
	numberField("max_stored", func(x *perdure.APIKey) *int64 { return &x.Limits.MaxStored }),
})

var (
	upsertKey = declare(keys.upsertStatement())
	keySelect = "SELECT " + keys.list("k") + " FROM api_key k WHERE "
	keyByID   = read(keySelect + "k.id = ?1 AND (?2 = '' OR k.org_id = ?2)")
	keyByHash = read(keySelect + "k.hash = ? AND k.revoked_at IS NULL")
	keysOfOrg = read(keySelect + "k.org_id = ? ORDER BY k.number")
)

func putKey(v view, k *perdure.APIKey) error {
	return keys.write(v, upsertKey, k)
}

func loadKey(v view, query *Statement, args ...any) (*perdure.APIKey, error) {
	var k perdure.APIKey
	found, err := v.one(query, args, keys.scan(nil, &k)...)
	if err != nil || !found {
		return nil, err
	}
	return &k, nil
}

var (
	runningWithKey = read("SELECT count(*) FROM agent_execution INDEXED BY idx_agent_execution_key_open" +
		" WHERE key_id = ? AND completed_at IS NULL AND (status <> 'WAITING' OR wait_reason = 'task')")
	// storedWithKey adds up one number per execution: from the log's head for executions that have
	// not ended, from the index for those that have ended.
	storedWithKey = read("SELECT CAST(" +
		"(SELECT coalesce(sum(h.stored), 0) FROM agent_execution x INDEXED BY idx_agent_execution_key_open JOIN log_head h ON h.agent_execution_id = x.id" +
		" WHERE x.key_id = ?1 AND x.completed_at IS NULL)" +
		" + (SELECT coalesce(sum(stored), 0) FROM agent_execution INDEXED BY idx_agent_execution_key_ended WHERE key_id = ?1 AND completed_at IS NOT NULL)" +
		" + (SELECT coalesce(sum(tail), 0) FROM durable_stream INDEXED BY idx_durable_stream_key WHERE key_id = ?1 AND deleted = 0)" +
		" + (SELECT coalesce(sum(bytes), 0) FROM conversation INDEXED BY idx_conversation_key WHERE key_id = ?1)" +
		" AS BIGINT)")
)

func heldUse(id uuid.UUID) string { return "use of " + id.String() }

// loadLimited returns a key, with its current use if the key has limits that the store counts. The
// use is locked until the transaction ends, so that two commands cannot both use the last part of a
// limit.
func loadLimited(v view, org string, id uuid.UUID) (*perdure.APIKey, error) {
	k, err := loadKey(v, keyByID, id[:], org)
	if err != nil || k == nil || k.Limits.MaxRunning == 0 && k.Limits.MaxStored == 0 {
		return k, err
	}
	if err := v.hold(heldUse(id)); err != nil {
		return nil, err
	}
	k.Use = &perdure.KeyUse{}
	if k.Limits.MaxRunning > 0 {
		if _, err := v.one(runningWithKey, []any{id[:]}, &k.Use.Running); err != nil {
			return nil, err
		}
	}
	if k.Limits.MaxStored > 0 {
		_, err = v.one(storedWithKey, []any{id[:]}, &k.Use.Stored)
	}
	return k, err
}

// loadUse loads the key whose limits apply to a command. For an existing stream that is the
// stream's key. Every command must call it after acquiring all its other locks.
func loadUse(v view, org string, n store.Needs, s *store.State) (err error) {
	id := n.UseOf
	if s.Stream != nil {
		id = s.Stream.KeyID
	}
	if id != nil {
		s.Limited, err = loadLimited(v, org, *id)
	}
	return err
}

// KeyByHash implements [store.Reader].
func (r *Reader) KeyByHash(ctx context.Context, hash perdure.Hash) (*perdure.APIKey, error) {
	var k *perdure.APIKey
	err := r.read(ctx, func(v view) (err error) {
		if k, err = loadKey(v, keyByHash, hash[:]); err == nil && k == nil {
			err = perdure.Errorf(perdure.NotFound, "there is no such key")
		}
		return err
	})
	return k, err
}

// Keys implements [store.Reader].
func (r *Reader) Keys(ctx context.Context, org string) ([]*perdure.APIKey, error) {
	var all []*perdure.APIKey
	err := r.read(ctx, func(v view) error {
		err := v.each(keysOfOrg, []any{org}, func(row func(...any) error) error {
			var k perdure.APIKey
			err := row(keys.scan(nil, &k)...)
			all = append(all, &k)
			return err
		})
		if err != nil {
			return err
		}
		for _, k := range all {
			k.Use = &perdure.KeyUse{}
			if _, err := v.one(runningWithKey, []any{k.ID[:]}, &k.Use.Running); err != nil {
				return err
			}
			if _, err := v.one(storedWithKey, []any{k.ID[:]}, &k.Use.Stored); err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}

var anyKey = read("SELECT EXISTS (SELECT 1 FROM api_key WHERE revoked_at IS NULL)")

// AnyKey implements [store.Reader].
func (r *Reader) AnyKey(ctx context.Context) (any bool, err error) {
	err = r.read(ctx, func(v view) error {
		_, err := v.one(anyKey, nil, flagInto(&any))
		return err
	})
	return any, err
}

var (
	addStored = update("log_head", Terms{}.plus("stored"), columns("agent_execution_id"))
	// takeStored also runs for executions without limits: their count is 0.
	takeStored = alone("UPDATE log_head SET stored = stored - ?1 WHERE agent_execution_id = ?2 AND stored >= ?1")
	restStored = alone("UPDATE agent_execution SET stored = (SELECT h.stored FROM log_head h WHERE h.agent_execution_id = agent_execution.id) WHERE id = ? AND completed_at IS NOT NULL")
)

// counted returns the number of content bytes that the changes add to an execution whose key has
// limits; 0 for other executions.
func counted(l loadedExecution, ch *store.Changes) int64 {
	row := l.row
	if ch.Execution != nil {
		row = ch.Execution
	}
	if row == nil || row.KeyID == nil {
		return 0
	}
	n := len(ch.BlobChunk)
	if x := ch.Execution; x != nil {
		n += len(x.Input) + len(x.Output)
	}
	for i := range ch.Entries {
		n += len(ch.Entries[i].Content)
	}
	if ch.Checkpoint != nil {
		n += len(ch.Checkpoint.State)
	}
	for _, t := range ch.Tasks {
		n += len(t.Input) + len(t.Result)
	}
	for i := range ch.Signals {
		n += len(ch.Signals[i].Value)
	}
	for i := range ch.Records {
		n += len(ch.Records[i].Fields)
		if c := ch.Records[i].Chunk; c != nil {
			n += len(c.Text)
		}
	}
	for i := range ch.Stage {
		n += len(ch.Stage[i].Content)
	}
	return int64(n)
}

// applyStored counts stored bytes of changes that do not move the log's head. It also copies the
// count of an execution that has ended into its row.
func (t *Transaction) applyStored(id uuid.UUID, l loadedExecution, ch *store.Changes) error {
	n := counted(l, ch)
	if ch.Head == nil && n > 0 {
		if err := t.write(addStored, n, id[:]); err != nil {
			return err
		}
	}
	after := l.row
	if ch.Execution != nil {
		after = ch.Execution
	}
	if after == nil || after.KeyID == nil || after.CompletedAt == nil || n == 0 && l.row != nil && l.row.CompletedAt != nil {
		return nil
	}
	return t.write(restStored, id[:])
}

// takeStored subtracts deleted bytes from the count.
func (t *Transaction) takeStored(id uuid.UUID, n int64) error {
	if err := t.write(takeStored, n, id[:]); err != nil {
		return err
	}
	return t.write(restStored, id[:])
}
