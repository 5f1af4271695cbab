package sqlite

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/statement"
	"github.com/perdure/perdure/internal/store/sqlite/connection"
)

// dialect contains the statements in SQLite's dialect.
var dialect = &statement.Dialect{
	Due: due, FirstLease: firstLease, FirstTaskLease: firstTaskLease, PendingAgents: statement.NewAlone(pendingAgents), PendingAlone: statement.NewAlone(pendingAlone), PendingTasks: statement.NewAlone(pendingTasks),
	TheseExecutions: these,
	Moved:           statement.NewAlone(moved), Standings: standings,
	AmongIDs: func(table, alias string) string {
		return "(SELECT * FROM " + table + " WHERE agent_execution_id = ?1 AND id IN (SELECT unhex(j.value) FROM json_each(?2) j)) " + alias
	},
	IDs: digits,
	AmongNumbers: func(table, alias, owner string) string {
		return "(SELECT * FROM " + table + " WHERE " + owner + " = ?1 AND number > 0 AND number IN (SELECT j.value FROM json_each(?2) j)) " + alias
	},
	Numbers: func(numbers []int64) (any, error) {
		list, err := json.Marshal(numbers)
		return string(list), err
	},
	MetadataMember: func(key, value string) (string, []any) { return metadataMember, []any{key, value} },
	KindAmong: func(kinds []string) (string, any) {
		list, _ := json.Marshal(kinds) // texts always encode
		return "x.kind IN (SELECT j.value FROM json_each(?) j)", string(list)
	},
	QueryMatch: func(plain, escaped, id string) (string, []any) {
		return queryMatch, []any{id, plain, plain, escaped, plain, escaped}
	},
	ReusesNumbers: true,
	Spoils:        func(err error) bool { return connection.IsFull(err) || connection.IsBroken(err) },
	Free:          free, Unused: unused, Size: size, Audit: foreignKeys,
}

// Claimed executions are indexed by worker. Claimed tasks are indexed by org and queue. The
// following statements skip from one worker or queue to the next.
const (
	holders = "WITH RECURSIVE holder (id) AS (SELECT x'' UNION ALL SELECT (SELECT min(worker_id) FROM agent_execution INDEXED BY idx_agent_execution_held" +
		" WHERE status IN ('RUNNING', 'CANCELLING') AND worker_id > holder.id) FROM holder WHERE holder.id IS NOT NULL)"
	places = "WITH RECURSIVE place (org, queue) AS (SELECT '', '' UNION ALL" +
		" SELECT x.org_id, x.queue FROM place CROSS JOIN task_execution x ON x.number = (SELECT number FROM task_execution INDEXED BY idx_task_execution_held" +
		" WHERE status = 'RUNNING' AND (org_id, queue) > (place.org, place.queue) ORDER BY org_id, queue LIMIT 1))"
	firstLease = "(" + holders + " SELECT min((SELECT min(lease_until) FROM agent_execution INDEXED BY idx_agent_execution_held" +
		" WHERE status IN ('RUNNING', 'CANCELLING') AND worker_id = holder.id)) FROM holder)"
	firstTaskLease = "(" + places + " SELECT min((SELECT min(lease_until) FROM task_execution INDEXED BY idx_task_execution_held" +
		" WHERE status = 'RUNNING' AND org_id = place.org AND queue = place.queue)) FROM place)"
)

var due = map[store.PickKind]*statement.Statement{
	store.PickTimers: statement.NewAlone("SELECT t.agent_execution_id, NULL FROM agent_timer t" +
		" WHERE t.due_at <= ?2 AND (?1 = '' OR (SELECT x.org_id FROM agent_execution x WHERE x.id = t.agent_execution_id) = ?1)" +
		" ORDER BY t.due_at LIMIT ?3"),
	store.PickQuestions: statement.NewAlone("SELECT found.agent_execution_id, NULL FROM" +
		" (SELECT q.agent_execution_id, q.expires_at FROM question q INDEXED BY idx_question_due" +
		" WHERE q.status = 'open' AND q.expires_at IS NOT NULL AND q.expires_at <= ?2 AND q.created_at >= ?4 AND (?1 = '' OR q.org_id = ?1)" +
		" ORDER BY q.expires_at LIMIT ?3 * " + mostOpen + ") found GROUP BY found.agent_execution_id ORDER BY min(found.expires_at) LIMIT ?3"),
	store.PickExpiredAgents: statement.NewAlone(holders +
		" SELECT x.id, NULL FROM holder CROSS JOIN agent_execution x INDEXED BY idx_agent_execution_held" +
		" WHERE x.worker_id IS holder.id AND x.status IN ('RUNNING', 'CANCELLING') AND x.lease_until <= ?2 AND (?1 = '' OR x.org_id = ?1)" +
		" ORDER BY x.lease_until LIMIT ?3"),
	store.PickExpiredTasks: statement.NewAlone(places +
		" SELECT x.agent_execution_id, x.id FROM place CROSS JOIN task_execution x INDEXED BY idx_task_execution_held" +
		" WHERE x.org_id = place.org AND x.queue = place.queue AND x.status = 'RUNNING' AND x.lease_until <= ?2 AND (?1 = '' OR x.org_id = ?1)" +
		" ORDER BY x.lease_until LIMIT ?3"),
	// This statement scans all claimed rows, because embedded workers have claimed either few of
	// them or all.
	store.PickEmbedded: statement.NewAlone("SELECT id, NULL FROM agent_execution INDEXED BY idx_agent_execution_held" +
		" WHERE embedded = 1 AND status IN ('RUNNING', 'CANCELLING') AND ?2 IS NOT NULL AND (?1 = '' OR org_id = ?1)" +
		" UNION SELECT agent_execution_id, NULL FROM task_execution INDEXED BY idx_task_execution_held" +
		" WHERE embedded = 1 AND status = 'RUNNING' AND (?1 = '' OR org_id = ?1) LIMIT ?3"),
	store.PickCancelOverdue: statement.NewAlone("SELECT id, NULL FROM agent_execution" +
		" WHERE status = 'CANCELLING' AND cancel_by <= ?2 AND (?1 = '' OR org_id = ?1) ORDER BY cancel_by LIMIT ?3"),
	store.PickTaskDeadlines: statement.NewAlone("SELECT agent_execution_id, id FROM task_execution" +
		" WHERE status IN ('PENDING', 'RUNNING') AND deadline_at IS NOT NULL AND deadline_at <= ?2 AND (?1 = '' OR org_id = ?1)" +
		" ORDER BY deadline_at LIMIT ?3"),
	store.PickAttempts: statement.NewAlone("SELECT agent_execution_id, id FROM task_execution" +
		" WHERE status = 'RUNNING' AND attempt_due IS NOT NULL AND attempt_due <= ?2 AND (?1 = '' OR org_id = ?1) ORDER BY attempt_due LIMIT ?3"),
	store.PickLooseBlobs: statement.NewAlone("SELECT DISTINCT b.agent_execution_id, NULL FROM blob b" +
		" WHERE b.owned = 0 AND b.created_at <= ?2 - " + looseBlobAge +
		" AND (?1 = '' OR (SELECT x.org_id FROM agent_execution x WHERE x.id = b.agent_execution_id) = ?1) LIMIT ?3"),
	store.PickPruned: statement.NewAlone("SELECT p.agent_execution_id, NULL FROM pruning p WHERE p.agent_execution_id > x'' AND ?2 IS NOT NULL" +
		" AND (?1 = '' OR (SELECT x.org_id FROM agent_execution x WHERE x.id = p.agent_execution_id) = ?1) LIMIT ?3"),
}

// mostOpen is the maximum number of open questions of one execution, as text in SQL. A query that
// needs the questions of n executions reads at most n times as many rows.
var mostOpen = strconv.Itoa(perdure.MaxOpenQuestions)

// looseBlobAge is store.LooseBlobAge in milliseconds.
var looseBlobAge = strconv.FormatInt(store.LooseBlobAge.Milliseconds(), 10)

// Each of these queries reads the pending rows of one org, queue and kind, in the order in which
// workers get them.
const (
	pendingAgents = "SELECT id, ready_at FROM agent_execution INDEXED BY idx_agent_execution_dispatch" +
		" WHERE org_id = ? AND queue = ? AND kind = ? AND needs_features & ? = 0 AND status = 'PENDING' AND crashes < 6" +
		" AND persistence_mode = ? AND home_worker_id IS ? AND not_before <= ? ORDER BY ready_at LIMIT ?"
	pendingAlone = "SELECT id, ready_at FROM agent_execution INDEXED BY idx_agent_execution_alone" +
		" WHERE org_id = ? AND queue = ? AND kind = ? AND needs_features & ? = 0 AND status = 'PENDING' AND crashes >= 6" +
		" AND persistence_mode = ? AND home_worker_id IS ? AND not_before <= ? ORDER BY ready_at LIMIT ?"
	pendingTasks = "SELECT agent_execution_id, id, priority, created_at, concurrency_key, concurrency_limit FROM task_execution INDEXED BY idx_task_execution_dispatch" +
		" WHERE org_id = ? AND queue = ? AND kind = ? AND needs_features & ? = 0 AND status = 'PENDING' AND blocked = 0 AND not_before <= ? ORDER BY priority, created_at LIMIT ?"
)

// metadataMember is an SQL condition. It holds if the metadata has a top-level member with this key
// and this value, compared as text.
const metadataMember = "json_valid(x.metadata) AND EXISTS (SELECT 1 FROM json_each(x.metadata) m WHERE m.key = ? AND" +
	" CASE m.type WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' WHEN 'null' THEN 'null' ELSE CAST(m.value AS TEXT) END = ?)"

// queryMatch is an SQL condition. It holds if the id, the kind or the start of the input contains a
// text. The case of ASCII letters is ignored. The input is searched for the plain text and for its
// JSON escape.
var (
	queryBytes = strconv.Itoa(store.QueryBytes)
	queryMatch = "(instr(lower(hex(x.id)), ?) OR instr(lower(x.kind), ?) OR x.persistence_mode <> 'LOCAL' AND" +
		" (instr(lower(CAST(substr(x.input, 1, " + queryBytes + ") AS TEXT)), ?) OR instr(lower(CAST(substr(x.input, 1, " + queryBytes + ") AS TEXT)), ?)" +
		" OR x.input_blob IS NOT NULL AND EXISTS (SELECT 1 FROM blob_chunk c WHERE c.agent_execution_id = x.id AND c.id = x.input_blob AND c.n = 0" +
		" AND (instr(lower(CAST(substr(c.content, 1, " + queryBytes + ") AS TEXT)), ?) OR instr(lower(CAST(substr(c.content, 1, " + queryBytes + ") AS TEXT)), ?)))))"
)

// digits returns ids as a JSON array of strings with hexadecimal digits.
func digits(ids []uuid.UUID) (any, error) {
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = hex.EncodeToString(id[:])
	}
	list, err := json.Marshal(all)
	return string(list), err
}

func these(ids []uuid.UUID) (from string, arg any, err error) {
	asked, err := digits(ids)
	return " FROM json_each(?) asked CROSS JOIN agent_execution x ON x.id = unhex(asked.value)", asked, err
}

// moved selects those of the listed executions that have ended or have changed since the caller
// read them. An element of the list is the hexadecimal id of an execution, followed by the state
// that the caller has read, in the format of standings.
const moved = "SELECT unhex(substr(asked.value, 1, 32)) FROM json_each(?2) asked WHERE NOT EXISTS (SELECT 1 FROM agent_execution x" +
	" WHERE x.id = unhex(substr(asked.value, 1, 32)) AND x.org_id = ?1 AND x.status NOT IN ('COMPLETED', 'FAILED', 'CANCELLED')" +
	" AND instr(',' || x.last_commit_fence || ',' || x.last_commit_number || ',' || coalesce(CAST(substr(x.answer, 1, ?3) AS TEXT), ''), substr(asked.value, 33)) = 1)"

func standings(all []store.Standing) ([]any, error) {
	said := make([]string, len(all))
	for i, s := range all {
		said[i] = fmt.Sprintf("%x,%d,%d,%s", s.Execution[:], s.Fence, s.Number, s.Answer)
	}
	list, err := json.Marshal(said)
	return []any{string(list), store.StandingAnswer}, err
}

// free returns at most `pages` unused pages to the file system. The pragma frees one page per row
// of its result, so all rows must be read.
func free(ctx context.Context, c statement.Conn, pages int) error {
	return c.Each(ctx, statement.NewAlone("PRAGMA incremental_vacuum("+strconv.Itoa(pages)+")"), nil, func(func(...any) error) error { return nil })
}

// incremental is the value of auto_vacuum for a file that returns unused pages to the file system
// on request.
const incremental = 2

func unused(ctx context.Context, c statement.Conn) (pages, pageSize int64, err error) {
	mode, err := pragma(ctx, c, "auto_vacuum")
	if err != nil || mode != incremental {
		return 0, 0, err
	}
	if pageSize, err = pragma(ctx, c, "page_size"); err != nil {
		return 0, 0, err
	}
	pages, err = pragma(ctx, c, "freelist_count")
	return pages, pageSize, err
}

func size(ctx context.Context, c statement.Conn) (bytes int64, err error) {
	pageSize, err := pragma(ctx, c, "page_size")
	if err != nil {
		return 0, err
	}
	pages, err := pragma(ctx, c, "page_count")
	return pages * pageSize, err
}

func pragma(ctx context.Context, c statement.Conn, name string) (n int64, err error) {
	err = c.Each(ctx, statement.NewAlone("PRAGMA "+name), nil, func(row func(...any) error) error { return row(&n) })
	return n, err
}

// foreignKeys returns an error if a foreign key in the file refers to a missing row.
func foreignKeys(ctx context.Context, c statement.Conn) error {
	return c.Each(ctx, statement.NewAlone("PRAGMA foreign_key_check"), nil, func(row func(...any) error) error {
		var table, parent string
		var rowid, key any
		if err := row(&table, &rowid, &parent, &key); err != nil {
			return err
		}
		return fmt.Errorf("a row of %s refers to a %s that is gone", table, parent)
	})
}
