// Package tenant declares and reads the rows that belong to an org and to none of its executions:
// keys, sessions, grants, webhooks, definitions, policies.
package tenant

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/row"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// KeyRows declares the rows of the table of API keys.
var KeyRows = row.New("api_key", 1, []row.Field[perdure.APIKey]{
	row.ID("id", func(x *perdure.APIKey) *uuid.UUID { return &x.ID }),
	row.Text("org_id", func(x *perdure.APIKey) *string { return &x.Org }),
	row.Text("name", func(x *perdure.APIKey) *string { return &x.Name }),
	row.Text("role", func(x *perdure.APIKey) *perdure.KeyRole { return &x.Role }),
	row.Hash("hash", func(x *perdure.APIKey) *perdure.Hash { return &x.Hash }),
	row.Time("created_at", func(x *perdure.APIKey) *perdure.Time { return &x.CreatedAt }),
	row.OptTime("revoked_at", func(x *perdure.APIKey) **perdure.Time { return &x.RevokedAt }),
	row.Number("requests_per_second", func(x *perdure.APIKey) *int64 { return &x.Limits.RequestsPerSecond }),
	row.Number("max_running", func(x *perdure.APIKey) *int64 { return &x.Limits.MaxRunning }),
	row.Number("max_stored", func(x *perdure.APIKey) *int64 { return &x.Limits.MaxStored }),
})

// KeySelect is the beginning of a query for API keys, up to its condition.
var KeySelect = "SELECT " + KeyRows.List("k") + " FROM api_key k WHERE "

var (
	// RunningWithKey counts the open executions that an API key has started, without those that
	// wait for something other than a task.
	RunningWithKey = statement.Read("SELECT count(*) FROM agent_execution INDEXED BY idx_agent_execution_key_open" +
		" WHERE key_id = ? AND completed_at IS NULL AND (status <> 'WAITING' OR wait_reason = 'task')")
	// StoredWithKey selects the number of stored bytes that count for an API key: those of its
	// executions, streams and conversations. For an open execution, this number is in the head of
	// the log; for an ended one, it is in an index of executions.
	StoredWithKey = statement.Read("SELECT CAST(" +
		"(SELECT coalesce(sum(h.stored), 0) FROM agent_execution x INDEXED BY idx_agent_execution_key_open JOIN log_head h ON h.agent_execution_id = x.id" +
		" WHERE x.key_id = ?1 AND x.completed_at IS NULL)" +
		" + (SELECT coalesce(sum(stored), 0) FROM agent_execution INDEXED BY idx_agent_execution_key_ended WHERE key_id = ?1 AND completed_at IS NOT NULL)" +
		" + (SELECT coalesce(sum(tail), 0) FROM durable_stream INDEXED BY idx_durable_stream_key WHERE key_id = ?1 AND deleted = 0)" +
		" + (SELECT coalesce(sum(bytes), 0) FROM conversation INDEXED BY idx_conversation_key WHERE key_id = ?1)" +
		" AS BIGINT)")
)
