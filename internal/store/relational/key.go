package relational

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var keyTable = table{name: "api_key", key: 1, columns: []string{
	"id", "org_id", "name", "role", "hash", "created_at", "revoked_at", "requests_per_second", "max_running", "max_stored",
}}

var (
	upsertKey = keyTable.upsertSQL()
	keySelect = "SELECT " + keyTable.list("k") + " FROM api_key k WHERE "
	keyByID   = keySelect + "k.id = ?1 AND (?2 = '' OR k.org_id = ?2)"
	keyByHash = keySelect + "k.hash = ? AND k.revoked_at IS NULL"
	keysOfOrg = keySelect + "k.org_id = ? ORDER BY k.number"
)

func putKey(v view, k *perdure.APIKey) error {
	return v.write(upsertKey, k.ID[:], k.Org, k.Name, string(k.Role), k.Hash[:], millis(k.CreatedAt), optMillis(k.RevokedAt),
		k.Limits.RequestsPerSecond, k.Limits.MaxRunning, k.Limits.MaxStored)
}

func keyScan(k *perdure.APIKey) []any {
	return []any{
		&k.ID, &k.Org, &k.Name,
		text[perdure.KeyRole]{&k.Role},
		(*hashCol)(&k.Hash), (*timeCol)(&k.CreatedAt),
		optTime{&k.RevokedAt},
		&k.Limits.RequestsPerSecond, &k.Limits.MaxRunning, &k.Limits.MaxStored,
	}
}

func loadKey(v view, query string, args ...any) (*perdure.APIKey, error) {
	var k perdure.APIKey
	found, err := v.one(query, args, keyScan(&k)...)
	if err != nil || !found {
		return nil, err
	}
	return &k, nil
}

const (
	runningWithKey = "SELECT count(*) FROM agent_execution INDEXED BY idx_agent_execution_key_open" +
		" WHERE key_id = ? AND completed_at IS NULL AND (status <> 'WAITING' OR wait_reason = 'task')"
	// storedWithKey adds up one number per execution: from the log's head for executions that have
	// not ended, from the index for those that have ended.
	storedWithKey = "SELECT CAST(" +
		"(SELECT coalesce(sum(h.stored), 0) FROM agent_execution x INDEXED BY idx_agent_execution_key_open JOIN log_head h ON h.agent_execution_id = x.id" +
		" WHERE x.key_id = ?1 AND x.completed_at IS NULL)" +
		" + (SELECT coalesce(sum(stored), 0) FROM agent_execution INDEXED BY idx_agent_execution_key_ended WHERE key_id = ?1 AND completed_at IS NOT NULL)" +
		" + (SELECT coalesce(sum(tail), 0) FROM durable_stream INDEXED BY idx_durable_stream_key WHERE key_id = ?1 AND deleted = 0)" +
		" + (SELECT coalesce(sum(bytes), 0) FROM conversation INDEXED BY idx_conversation_key WHERE key_id = ?1)" +
		" AS BIGINT)"
)

func heldUse(id uuid.UUID) string { return "use of " + id.String() }

// loadLimited returns a key, and its use if the key has limits that the store counts. The use is
// locked until the transaction ends, so that no two commands can take the same room.
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
	var keys []*perdure.APIKey
	err := r.read(ctx, func(v view) error {
		err := v.each(keysOfOrg, []any{org}, func(row func(...any) error) error {
			var k perdure.APIKey
			err := row(keyScan(&k)...)
			keys = append(keys, &k)
			return err
		})
		if err != nil {
			return err
		}
		for _, k := range keys {
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
	return keys, err
}

// AnyKey implements [store.Reader].
func (r *Reader) AnyKey(ctx context.Context) (any bool, err error) {
	err = r.read(ctx, func(v view) error {
		_, err := v.one("SELECT EXISTS (SELECT 1 FROM api_key WHERE revoked_at IS NULL)", nil, (*flagCol)(&any))
		return err
	})
	return any, err
}

const (
	addStored = "UPDATE log_head SET stored = stored + ? WHERE agent_execution_id = ?"
	// takeStored also runs for executions without limits: their count is 0.
	takeStored = "UPDATE log_head SET stored = stored - ?1 WHERE agent_execution_id = ?2 AND stored >= ?1"
	restStored = "UPDATE agent_execution SET stored = (SELECT h.stored FROM log_head h WHERE h.agent_execution_id = agent_execution.id) WHERE id = ? AND completed_at IS NOT NULL"
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
