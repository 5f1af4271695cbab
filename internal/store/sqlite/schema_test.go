package sqlite

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/catalog"
	"github.com/perdure/perdure/internal/store/sqlite/connection"
)

// TestExecutionsAreDeletedWhole checks that an execution's rows in the tables of the list `tables`
// are deleted with the row of the execution, but not with the row of its definition.
func TestExecutionsAreDeletedWhole(t *testing.T) {
	s := open(t, Options{})
	x, d := uuid.New(), uuid.New()
	v := s.committer.conn.With(t.Context())
	for _, query := range []string{
		"INSERT INTO agent_definition (id, org_id, name, slug, system_prompt, models, created_at, updated_at) VALUES (?2, 'o', 'n', 's', 'p', '[]', 1, 1)",
		"INSERT INTO agent_execution (id, org_id, agent_definition_id, kind, created_at, updated_at) VALUES (?1, 'o', ?2, 'k', 1, 1)",
		"INSERT INTO agent_entry (agent_execution_id, id, entry_type, created_at, content_sha256) VALUES (?1, ?2, 'message', 1, x'00')",
		"INSERT INTO agent_entry (agent_execution_id, id, parent_id, entry_type, created_at, content_sha256) VALUES (?1, ?1, ?2, 'message', 1, x'00')",
		"INSERT INTO agent_segment (agent_execution_id, segment, base_segment, base_depth) VALUES (?1, 1, 0, 1)",
		"INSERT INTO agent_checkpoint (agent_execution_id, sequence, leaf_entry_id, created_at) VALUES (?1, 1, ?1, 1)",
		"INSERT INTO agent_signal (agent_execution_id, id, signal_name, state, signal_order, created_at) VALUES (?1, 's', 'n', 'pending', 1, 1)",
		"INSERT INTO task_execution (agent_execution_id, id, org_id, kind, status, queue, task_key, input_hash, options, priority, created_at)" +
			" VALUES (?1, ?2, 'o', 'k', 'PENDING', 'q', 't', x'00', '{}', 5, 1)",
		"INSERT INTO agent_response (agent_execution_id, id, first_pos, created_at) VALUES (?1, 'r', 1, 1)",
		"INSERT INTO conversation (id, org_id, key_id, response_id, items, bytes, metadata, created_at, executions) VALUES ('c', 'o', ?2, 'r', 0, 0, '{}', 1, 1)",
		"INSERT INTO conversation_execution (conversation_id, number, agent_execution_id) VALUES ('c', 1, ?1)",
		"INSERT INTO agent_timer (agent_execution_id, due_at) VALUES (?1, 1)",
		"INSERT INTO log_head (agent_execution_id, last_seq, last_pos, epoch) VALUES (?1, 1, 1, 1)",
		"INSERT INTO log_record (agent_execution_id, pos, seq, type, created_at) VALUES (?1, 1, 1, 'error', 1)",
		"INSERT INTO log_block (agent_execution_id, task_id, attempt, block, seq, created_at, open, length, first_pos, last_pos) VALUES (?1, ?2, 1, 1, 1, 1, 1, 1, 1, 1)",
		"INSERT INTO agent_entry_text (agent_execution_id, hash, entry) VALUES (?1, 1, 1)",
		"INSERT INTO log_chunk (agent_execution_id, seq, pos, byte_offset, created_at, content) VALUES (?1, 1, 1, 0, 1, x'00')",
		"INSERT INTO blob (agent_execution_id, id, length, held, created_at) VALUES (?1, ?2, 1, 1, 1)",
		"INSERT INTO blob_chunk (agent_execution_id, id, n, content) VALUES (?1, ?2, 0, x'00')",
		"INSERT INTO question (agent_execution_id, id, org_id, question_key, kind, terms, details_sha256, place, status, version, created_at)" +
			" VALUES (?1, ?2, 'o', 'q', 'input', '{}', x'00', '{}', 'open', 1, 1)",
		"INSERT INTO idempotency (org_id, idempotency_key, request_hash, agent_execution_id, expires_at) VALUES ('o', 'k', x'00', ?1, 1)",
	} {
		args := []any{x[:], d[:]}
		if !strings.Contains(query, "?2") {
			args = args[:1]
		} else if !strings.Contains(query, "?1") {
			args = []any{nil, d[:]}
		}
		if _, err := v.Run(query, args...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	tables := []string{
		"agent_execution", "agent_entry", "agent_segment", "agent_checkpoint", "agent_signal", "agent_response", "conversation_execution", "task_execution", "agent_timer", "log_head",
		"log_record", "log_block", "agent_entry_text", "log_chunk", "blob", "blob_chunk", "question", "idempotency",
	}
	if _, err := v.Run("DELETE FROM agent_definition"); err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if count(t, s, "SELECT count(*) FROM "+table) == 0 {
			t.Errorf("deleting the definition emptied %s", table)
		}
	}
	if _, err := v.Run("DELETE FROM agent_execution"); err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if n := count(t, s, "SELECT count(*) FROM "+table); n != 0 {
			t.Errorf("%s keeps %d rows of a deleted execution", table, n)
		}
	}
}

// listed contains the names of tables in query plans that are not stored tables: parameters and
// intermediate results of a statement. A scan of them is allowed.
var listed = map[string]bool{"up": true, "class": true, "j": true, "CONSTANT": true, "holder": true, "place": true, "asked": true, "waiting": true, "found": true, "names": true}

var scan = regexp.MustCompile(`SCAN (\w+)`)

// TestHotStatementsUseIndexes checks that no statement of the hot paths scans a whole table. Only
// the statements that the test names may sort their rows.
func TestHotStatementsUseIndexes(t *testing.T) {
	s := open(t, Options{})
	queries := catalog.Statements(dialect)
	queries["pending agents"], queries["pending alone"], queries["pending tasks"] = dialect.PendingAgents, dialect.PendingAlone, dialect.PendingTasks
	for kind, query := range due {
		queries[fmt.Sprint("pick ", kind)] = query
	}
	// These statements may sort. Expired leases are few, and the claims of embedded workers are read
	// only once. Due questions are sorted by execution, at most 10,000 of them.
	expired, embedded := fmt.Sprint("pick ", store.PickExpiredAgents), fmt.Sprint("pick ", store.PickEmbedded)
	sorted := map[string]bool{
		expired: true, fmt.Sprint("pick ", store.PickExpiredTasks): true, embedded: true, fmt.Sprint("pick ", store.PickQuestions): true,
		"path": true, "open tasks": true, "held tasks": true, "open chunks": true, "blobs by id": true,
	}
	for name, query := range queries {
		for _, step := range plan(t, s, query.Text()) {
			found := scan.FindStringSubmatch(step)
			if found != nil && !listed[found[1]] && !partial(step) && !counts(name, step) && !(name == embedded && strings.HasSuffix(step, "_held")) {
				t.Errorf("%s: %s", name, step)
			}
			if strings.Contains(step, "TEMP B-TREE FOR ORDER BY") && !sorted[name] {
				t.Errorf("%s: %s", name, step)
			}
		}
	}
}

// partial reports whether a step reads a partial index that contains only the rows that the
// statement needs.
func partial(step string) bool {
	for _, index := range []string{"_deferred", "_timer_due", "_stream_dead", "_webhook_deleted"} {
		if strings.Contains(step, index) {
			return true
		}
	}
	return false
}

// counts reports whether a scan belongs to a statement that counts the rows of an index without
// ended executions and tasks.
func counts(name, step string) bool {
	if !strings.HasPrefix(name, "census") {
		return false
	}
	for _, index := range []string{"_dispatch", "_alone", "_blocked", "_held", "_waiting", "_delivery_due"} {
		if strings.HasSuffix(step, index) {
			return true
		}
	}
	return false
}

var numbered = regexp.MustCompile(`\?(\d+)`)

// noArguments returns a nil argument for each parameter of a statement.
func noArguments(query string) []any {
	most := strings.Count(numbered.ReplaceAllString(query, ""), "?")
	for _, found := range numbered.FindAllStringSubmatch(query, -1) {
		n, _ := strconv.Atoi(found[1]) // the text consists of digits
		most = max(most, n)
	}
	return make([]any, most)
}

func plan(t *testing.T, s *Store, query string) []string {
	t.Helper()
	var steps []string
	err := s.pool.Read(t.Context(), func(v connection.View) error {
		return v.Rows("EXPLAIN QUERY PLAN "+query, noArguments(query), func(row func(...any) error) error {
			var id, parent, unused int
			var detail string
			err := row(&id, &parent, &unused, &detail)
			steps = append(steps, detail)
			return err
		})
	})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return steps
}

// TestOpenTasksAreFoundByTheirIndex checks that an execution's open tasks are read by their partial
// index and without sorting.
func TestOpenTasksAreFoundByTheirIndex(t *testing.T) {
	s := open(t, Options{})
	steps := strings.Join(plan(t, s, catalog.Statements(dialect)["open tasks"].Text()), "\n")
	if !strings.Contains(steps, "INDEX idx_task_execution_open (agent_execution_id=?)") || strings.Contains(steps, "TEMP B-TREE") {
		t.Errorf("the open tasks are found by\n%s", steps)
	}
}
