package apply

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/load/tenant"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	upsertKey = statement.Declare(tenant.KeyRows.UpsertStatement())
	keyByID   = statement.Read(tenant.KeySelect + "k.id = ?1 AND (?2 = '' OR k.org_id = ?2)")
)

func heldUse(id uuid.UUID) string { return "use of " + id.String() }

// loadLimited returns an API key. If the key limits its running executions or its stored bytes,
// loadLimited also loads how many executions are running and how many bytes are stored. Both
// numbers are locked until the transaction ends, so that two commands cannot exceed a limit
// together.
func loadLimited(v statement.View, org string, id uuid.UUID) (*perdure.APIKey, error) {
	k, err := tenant.KeyRows.One(v, keyByID, id[:], org)
	if err != nil || k == nil || k.Limits.MaxRunning == 0 && k.Limits.MaxStored == 0 {
		return k, err
	}
	if err := v.Hold(heldUse(id)); err != nil {
		return nil, err
	}
	k.Use = &perdure.KeyUse{}
	if k.Limits.MaxRunning > 0 {
		if _, err := v.One(tenant.RunningWithKey, []any{id[:]}, &k.Use.Running); err != nil {
			return nil, err
		}
	}
	if k.Limits.MaxStored > 0 {
		_, err = v.One(tenant.StoredWithKey, []any{id[:]}, &k.Use.Stored)
	}
	return k, err
}

// loadUse loads the API key whose limits apply to a command. For an existing stream, that is the key
// that created the stream. A command must call loadUse after it has acquired all its other locks.
func loadUse(v statement.View, org string, n store.Needs, s *store.State) (err error) {
	id := n.UseOf
	if s.Stream != nil {
		id = s.Stream.KeyID
	}
	if id != nil {
		s.Limited, err = loadLimited(v, org, *id)
	}
	return err
}

var (
	addStored = statement.Update("log_head", statement.Terms{}.Plus("stored"), statement.Columns("agent_execution_id"))
	// takeStored subtracts deleted bytes from the stored bytes of an execution. The stored bytes
	// are 0, and remain 0, for an execution that was started without an API key.
	takeStored = statement.Alone("UPDATE log_head SET stored = stored - ?1 WHERE agent_execution_id = ?2 AND stored >= ?1")
	restStored = statement.Alone("UPDATE agent_execution SET stored = (SELECT h.stored FROM log_head h WHERE h.agent_execution_id = agent_execution.id) WHERE id = ? AND completed_at IS NOT NULL")
)

// counted returns the number of content bytes that the changes add to an execution that was started
// with an API key. It returns 0 for other executions.
func counted(l load.ExecutionRow, ch *store.Changes) int64 {
	row := l.Row
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
	for _, q := range ch.Questions {
		n += questionBytes(q)
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

// applyStored adds the bytes of the changes to the execution's stored bytes, unless applyHead has
// done so with the new head of the log. For an ended execution, it also copies the stored bytes
// into the execution's row.
func (t *Transaction) applyStored(id uuid.UUID, l load.ExecutionRow, ch *store.Changes) error {
	n := counted(l, ch)
	if ch.Head == nil && n > 0 {
		if err := t.Write(addStored, n, id[:]); err != nil {
			return err
		}
	}
	after := l.Row
	if ch.Execution != nil {
		after = ch.Execution
	}
	if after == nil || after.KeyID == nil || after.CompletedAt == nil || n == 0 && l.Row != nil && l.Row.CompletedAt != nil {
		return nil
	}
	return t.Write(restStored, id[:])
}

// takeStored subtracts n deleted bytes from the execution's stored bytes.
func (t *Transaction) takeStored(id uuid.UUID, n int64) error {
	if err := t.Write(takeStored, n, id[:]); err != nil {
		return err
	}
	return t.Write(restStored, id[:])
}
