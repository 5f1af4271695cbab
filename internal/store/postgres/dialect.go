package postgres

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// dialect contains the statements in PostgreSQL's dialect. The statements of picks, which select
// pending or due work, lock the executions that they select. They skip executions that another
// transaction has locked.
var dialect = &statement.Dialect{
	Due: due, PendingAgents: statement.NewAlone(pendingAgents), PendingAlone: statement.NewAlone(pendingAlone), PendingTasks: statement.NewAlone(pendingTasks), SkipLocked: lockExecution,
	TheseExecutions: func(ids []uuid.UUID) (string, any, error) {
		return " FROM (SELECT * FROM agent_execution WHERE id = ANY(?)) x", rawIDs(ids), nil
	},
	Moved: statement.NewAlone(moved), Standings: standings,
	FirstLease:     "min(lease_until) FROM agent_execution WHERE status IN ('RUNNING', 'CANCELLING')",
	FirstTaskLease: "min(lease_until) FROM task_execution WHERE status = 'RUNNING'",
	AmongIDs: func(table, alias string) string {
		return lookupByValues(table, alias, "agent_execution_id", "id", "UUID[]")
	},
	IDs: func(ids []uuid.UUID) (any, error) { return rawIDs(distinct(ids, compareIDs)), nil },
	AmongNumbers: func(table, alias, owner string) string {
		return lookupByValues(table, alias, owner, "number", "BIGINT[]")
	},
	Numbers:        func(numbers []int64) (any, error) { return distinct(numbers, cmp.Compare[int64]), nil },
	KindAmong:      func(kinds []string) (string, any) { return "x.kind = ANY(?)", kinds },
	MetadataMember: func(key, value string) (string, []any) { return metadataMember, []any{key, key, value} },
	QueryMatch:     matchQuery,
	Sets:           true,
	RecordsBySeq:   true,
	Spoils:         func(err error) bool { return !isStatement(err) },
	Size: func(ctx context.Context, c statement.Conn) (bytes int64, err error) {
		err = c.Each(ctx, databaseSize, nil, func(row func(...any) error) error { return row(&bytes) })
		return bytes, err
	},
	Audit: auditOwners,
}

var databaseSize = statement.NewRead("SELECT pg_database_size(current_database())")

var looseBlobMillis = strconv.FormatInt(store.LooseBlobAge.Milliseconds(), 10)

// lookupByValues returns a FROM item that looks up each row by one of the distinct values in the
// list ?2. With a condition like id = ANY(?2), PostgreSQL may read all rows of the owner ?1
// instead, if it expects few of them. OFFSET 0 prevents PostgreSQL from merging the subquery into
// the outer query; a merged query could be run like that condition.
func lookupByValues(table, alias, owner, column, list string) string {
	condition := owner + " = ?1 AND " + column + " = listed." + column
	if column == "number" {
		condition += " AND number > 0" // some indexes of numbers have this condition
	}
	return "unnest(CAST(?2 AS " + list + ")) listed (" + column + ") CROSS JOIN LATERAL (SELECT * FROM " + table + " WHERE " + condition + " OFFSET 0) " + alias
}

// distinct returns the values of a list without duplicates.
func distinct[T any](all []T, compare func(a, b T) int) []T {
	sorted := slices.SortedFunc(slices.Values(all), compare)
	return slices.CompactFunc(sorted, func(a, b T) bool { return compare(a, b) == 0 })
}

func compareIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }

// rawIDs converts ids to a parameter for ANY.
func rawIDs(ids []uuid.UUID) [][]byte {
	raw := make([][]byte, len(ids))
	for i := range ids {
		raw[i] = ids[i][:]
	}
	return raw
}

const moved = "SELECT a.id FROM unnest(CAST(?2 AS UUID[]), CAST(?3 AS BIGINT[]), CAST(?4 AS BIGINT[]), CAST(?5 AS TEXT[])) a (id, fence, number, answer)" +
	" LEFT JOIN agent_execution x ON x.id = a.id AND x.org_id = ?1 AND x.status NOT IN ('COMPLETED', 'FAILED', 'CANCELLED')" +
	" AND x.last_commit_fence = a.fence AND x.last_commit_number = a.number" +
	" AND substr(coalesce(x.answer, ''), 1, length(a.answer)) = convert_to(a.answer, 'UTF8') WHERE x.id IS NULL"

func standings(all []store.Standing) ([]any, error) {
	ids, answers := make([]uuid.UUID, len(all)), make([]string, len(all))
	fences, numbers := make([]int64, len(all)), make([]int64, len(all))
	for i, s := range all {
		ids[i], fences[i], numbers[i], answers[i] = s.Execution, s.Fence, s.Number, s.Answer
	}
	return []any{rawIDs(ids), fences, numbers, answers}, nil
}

const lockExecution = " FOR NO KEY UPDATE OF x SKIP LOCKED"

var due = map[store.PickKind]*statement.Statement{
	store.PickTimers: statement.NewAlone("SELECT x.id, NULL FROM agent_timer t JOIN agent_execution x ON x.id = t.agent_execution_id" +
		" WHERE t.due_at <= ?2 AND (?1 = '' OR x.org_id = ?1) ORDER BY t.due_at LIMIT ?3" + lockExecution),
	store.PickQuestions: statement.NewAlone("SELECT x.id, NULL FROM (SELECT found.agent_execution_id, min(found.expires_at) AS first FROM" +
		" (SELECT q.agent_execution_id, q.expires_at FROM question q" +
		" WHERE q.status = 'open' AND q.expires_at IS NOT NULL AND q.expires_at <= ?2 AND q.created_at >= ?4 AND (?1 = '' OR q.org_id = ?1)" +
		" ORDER BY q.expires_at LIMIT CAST(?3 AS BIGINT) * " + mostOpen + ") found GROUP BY found.agent_execution_id) runs" +
		" JOIN agent_execution x ON x.id = runs.agent_execution_id ORDER BY runs.first LIMIT ?3" + lockExecution),
	store.PickExpiredAgents: statement.NewAlone("SELECT x.id, NULL FROM agent_execution x" +
		" WHERE x.status IN ('RUNNING', 'CANCELLING') AND x.lease_until <= ?2 AND (?1 = '' OR x.org_id = ?1) ORDER BY x.lease_until LIMIT ?3" + lockExecution),
	store.PickExpiredTasks: statement.NewAlone("SELECT t.agent_execution_id, t.id FROM task_execution t" + ofTask +
		" WHERE t.status = 'RUNNING' AND t.lease_until <= ?2 AND (?1 = '' OR t.org_id = ?1) ORDER BY t.lease_until LIMIT ?3" + lockExecution),
	store.PickEmbedded: statement.NewAlone("SELECT x.id, NULL FROM agent_execution x WHERE x.id IN" +
		" (SELECT id FROM agent_execution WHERE embedded = 1 AND status IN ('RUNNING', 'CANCELLING')" +
		" UNION SELECT agent_execution_id FROM task_execution WHERE embedded = 1 AND status = 'RUNNING')" +
		" AND CAST(?2 AS BIGINT) IS NOT NULL AND (?1 = '' OR x.org_id = ?1) LIMIT ?3" + lockExecution),
	store.PickCancelOverdue: statement.NewAlone("SELECT x.id, NULL FROM agent_execution x" +
		" WHERE x.status = 'CANCELLING' AND x.cancel_by <= ?2 AND (?1 = '' OR x.org_id = ?1) ORDER BY x.cancel_by LIMIT ?3" + lockExecution),
	store.PickTaskDeadlines: statement.NewAlone("SELECT t.agent_execution_id, t.id FROM task_execution t" + ofTask +
		" WHERE t.status IN ('PENDING', 'RUNNING') AND t.deadline_at IS NOT NULL AND t.deadline_at <= ?2 AND (?1 = '' OR t.org_id = ?1)" +
		" ORDER BY t.deadline_at LIMIT ?3" + lockExecution),
	store.PickAttempts: statement.NewAlone("SELECT t.agent_execution_id, t.id FROM task_execution t" + ofTask +
		" WHERE t.status = 'RUNNING' AND t.attempt_due IS NOT NULL AND t.attempt_due <= ?2 AND (?1 = '' OR t.org_id = ?1)" +
		" ORDER BY t.attempt_due LIMIT ?3" + lockExecution),
	store.PickLooseBlobs: statement.NewAlone("SELECT x.id, NULL FROM agent_execution x WHERE x.id IN" +
		" (SELECT b.agent_execution_id FROM blob b WHERE b.owned = 0 AND b.created_at <= CAST(?2 AS BIGINT) - " + looseBlobMillis + ")" +
		" AND (?1 = '' OR x.org_id = ?1) LIMIT ?3" + lockExecution),
	store.PickPruned: statement.NewAlone("SELECT x.id, NULL FROM pruning p JOIN agent_execution x ON x.id = p.agent_execution_id" +
		" WHERE CAST(?2 AS BIGINT) IS NOT NULL AND (?1 = '' OR x.org_id = ?1) LIMIT ?3" + lockExecution),
}

// nobody is the id that indexes contain for an execution without a home worker.
const nobody = "'00000000-0000-0000-0000-000000000000'::uuid"

const ofTask = " JOIN agent_execution x ON x.id = t.agent_execution_id"

const (
	pendingAgents = "SELECT x.id, x.ready_at FROM agent_execution x" +
		" WHERE x.org_id = ? AND x.queue = ? AND x.kind = ? AND x.needs_features & CAST(? AS BIGINT) = 0 AND x.status = 'PENDING' AND x.crashes < 6" + pendingOf
	pendingAlone = "SELECT x.id, x.ready_at FROM agent_execution x" +
		" WHERE x.org_id = ? AND x.queue = ? AND x.kind = ? AND x.needs_features & CAST(? AS BIGINT) = 0 AND x.status = 'PENDING' AND x.crashes >= 6" + pendingOf
	pendingOf = " AND x.persistence_mode = ? AND coalesce(x.home_worker_id, " + nobody + ") = coalesce(?::uuid, " + nobody + ")" +
		" AND x.not_before <= ? ORDER BY x.ready_at LIMIT ?" + lockExecution
	pendingTasks = "SELECT t.agent_execution_id, t.id, t.priority, t.created_at, t.concurrency_key, t.concurrency_limit FROM task_execution t" + ofTask +
		" WHERE t.org_id = ? AND t.queue = ? AND t.kind = ? AND t.needs_features & CAST(? AS BIGINT) = 0 AND t.status = 'PENDING' AND t.blocked = 0 AND t.not_before <= ?" +
		" ORDER BY t.priority, t.created_at LIMIT ?" + lockExecution
)

// safeMetadata replaces the characters of JSON that a PostgreSQL text cannot contain, the zero
// character and unpaired surrogates, with U+FFFD. Reading a member of JSON with such a character is
// an error, which would fail the whole query. First, safeMetadata rewrites escaped backslashes, so
// that every remaining backslash starts an escape. While unpaired surrogates are replaced, the
// backslashes of surrogate pairs are represented by U+0001, which JSON cannot contain unescaped.
// Metadata without \u is not rewritten.
const (
	safeMetadata = `(CASE WHEN strpos(x.metadata, '\u') = 0 THEN x.metadata ELSE replace(regexp_replace(regexp_replace(` +
		`replace(replace(x.metadata, '\\', '\u005c'), '\u0000', '\ufffd'),` +
		` '\\(u[dD][89abAB][0-9a-fA-F]{2})\\(u[dD][c-fC-F][0-9a-fA-F]{2})', chr(1) || '\1' || chr(1) || '\2', 'g'),` +
		` '\\u[dD][89a-fA-F][0-9a-fA-F]{2}', '\\ufffd', 'g'), chr(1), '\') END)::json`
	// metadataMember is an SQL condition. It holds if the metadata is an object that has a member
	// with this key, and if the value of that member, as text, equals the parameter.
	metadataMember = `(x.metadata IS NOT NULL AND (SELECT CASE WHEN json_typeof(safe.m) <> 'object' THEN false` +
		` ELSE coalesce(safe.m ->> CAST(? AS TEXT), CASE json_typeof(safe.m -> CAST(? AS TEXT)) WHEN 'null' THEN 'null' END) = ? END` +
		` FROM (SELECT ` + safeMetadata + ` AS m OFFSET 0) safe))`
)

// queryMatch is an SQL condition. It holds if the id, the kind or the start of the input of an
// execution contains a text. Inputs are bytes, not text, so their non-ASCII bytes are escaped for
// the comparison.
var (
	inputText  = "lower(encode(substr(x.input, 1, " + queryBytes + "), 'escape') COLLATE \"C\")"
	chunkText  = "lower(encode(substr(c.content, 1, " + queryBytes + "), 'escape') COLLATE \"C\")"
	queryBytes = strconv.Itoa(store.QueryBytes)
	queryMatch = "(strpos(replace(x.id::text, '-', ''), ?) > 0 OR strpos(lower(x.kind COLLATE \"C\"), ?) > 0 OR x.persistence_mode <> 'LOCAL' AND" +
		" (strpos(" + inputText + ", ?) > 0 OR strpos(" + inputText + ", ?) > 0" +
		" OR x.input_blob IS NOT NULL AND EXISTS (SELECT 1 FROM blob_chunk c WHERE c.agent_execution_id = x.id AND c.id = x.input_blob AND c.n = 0" +
		" AND (strpos(" + chunkText + ", ?) > 0 OR strpos(" + chunkText + ", ?) > 0))))"
)

func matchQuery(plain, escaped, id string) (string, []any) {
	p, e := escapeBytes(plain), escapeBytes(escaped)
	return queryMatch, []any{id, plain, p, e, p, e}
}

// escapeBytes returns a text in the format of encode(..., 'escape').
func escapeBytes(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		switch {
		case c == '\\':
			b.WriteString(`\\`)
		case c == 0 || c >= 0x80:
			b.Write([]byte{'\\', '0' + c>>6, '0' + c>>3&7, '0' + c&7})
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// mostOpen is the maximum number of open questions of one execution, as text in SQL. A query that
// needs the questions of n executions reads at most n times as many rows.
var mostOpen = strconv.Itoa(perdure.MaxOpenQuestions)

var (
	// timeNow selects the database's time in microseconds since 1970.
	timeNow = statement.NewAlone("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
	// timeAndWebhooks selects the database's time and the revision of the webhooks.
	timeAndWebhooks = statement.NewAlone("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint," +
		" coalesce((SELECT revision FROM webhook_revision WHERE id = 1), 0)")
)
