package postgres

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

const foreignKeyViolation = "23503"

// ofOwned contains an INSERT statement for each table of [owned]. It inserts a row for each
// execution whose id is in $1.
var ofOwned = map[string]string{
	"log_record": "INSERT INTO log_record (agent_execution_id, pos, seq, type, created_at) SELECT e, 100 + n, 100 + n, 'note', 1 FROM unnest($1::uuid[]) WITH ORDINALITY AS u(e, n)",
	"log_chunk":  "INSERT INTO log_chunk (agent_execution_id, seq, pos, byte_offset, created_at, content) SELECT e, n, n, 0, 1, '' FROM unnest($1::uuid[]) WITH ORDINALITY AS u(e, n)",
	"task_execution": "INSERT INTO task_execution (agent_execution_id, id, org_id, kind, status, queue, task_key, input_hash, options, priority, created_at)" +
		" SELECT e, gen_random_uuid(), 'acme', 'k', 'COMPLETED', 'q', 'key', '', '{}', 5, 1 FROM unnest($1::uuid[]) AS e",
}

func dialed(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) }) // an error has no effect on the test
	return conn
}

func exec(t *testing.T, conn *pgx.Conn, query string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

func refusedAs(t *testing.T, code, what string, conn *pgx.Conn, query string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), query, args...); codeOf(err) != code {
		t.Errorf("%s gives %v, want the error %s", what, err, code)
	}
}

// audited runs the audit and returns its last error; nil if it finds nothing.
func audited(t *testing.T, s *Store) (found error) {
	t.Helper()
	for _, err := range s.Audit(t.Context()) {
		found = err
	}
	return found
}

// TestEveryRowOfAnExecutionHasAnOwner checks that every table whose rows refer to an execution has
// a foreign key.
func TestEveryRowOfAnExecutionHasAnOwner(t *testing.T) {
	conn := dialed(t, emptyDatabase(t))
	rows, err := conn.Query(t.Context(), "SELECT a.attrelid::regclass::text FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid"+
		" WHERE a.attname = 'agent_execution_id' AND c.relkind = 'r' AND NOT EXISTS"+
		" (SELECT 1 FROM pg_constraint f WHERE f.contype = 'f' AND f.conrelid = a.attrelid AND a.attnum = ANY(f.conkey)) ORDER BY 1")
	if err != nil {
		t.Fatal(err)
	}
	without, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if len(without) > 0 {
		t.Errorf("these tables have no foreign key: %v", without)
	}
}

// TestRowsBelongToAnExecution checks that no row can be inserted for a missing execution, alone or
// together with valid rows, by COPY or otherwise, and that no row can be moved to another
// execution.
func TestRowsBelongToAnExecution(t *testing.T) {
	url := emptyDatabase(t)
	s, conn := open(t, Options{without: optimizations{texts: true}, URL: url}), dialed(t, url)
	id, nobody := begin(t, s), uuid.New()
	for _, table := range owned {
		insert := ofOwned[table]
		refusedAs(t, foreignKeyViolation, table+": a row of nobody's", conn, insert, []uuid.UUID{nobody})
		refusedAs(t, foreignKeyViolation, table+": one among many", conn, insert, []uuid.UUID{id, nobody, id})
		exec(t, conn, insert, []uuid.UUID{id})
		refusedAs(t, foreignKeyViolation, table+": a row given to another", conn, "UPDATE "+table+" SET agent_execution_id = $1", nobody)
	}
	_, err := conn.CopyFrom(t.Context(), pgx.Identifier{"log_record"}, []string{"agent_execution_id", "pos", "seq", "type", "created_at"},
		pgx.CopyFromRows([][]any{{[]byte(nobody[:]), int64(9), int64(9), "note", int64(1)}}))
	if codeOf(err) != foreignKeyViolation {
		t.Errorf("COPY of a row of nobody's gives %v", err)
	}
	refusedAs(t, foreignKeyViolation, "an execution with another id", conn, "UPDATE agent_execution SET id = $1", nobody)
}

// TestAnExecutionTakesItsRowsAlong checks that deleting or truncating an execution deletes its
// rows. If other transactions are inserting rows for the execution, the deletion must wait for
// these transactions and delete their rows, too.
func TestAnExecutionTakesItsRowsAlong(t *testing.T) {
	url := emptyDatabase(t)
	s, conn, other := open(t, Options{without: optimizations{texts: true}, URL: url}), dialed(t, url), dialed(t, url)
	exec(t, other, "SET lock_timeout = '50ms'")
	for _, table := range owned {
		id, stays := begin(t, s), begin(t, s)
		exec(t, conn, "DELETE FROM "+table)
		exec(t, conn, ofOwned[table], []uuid.UUID{stays})
		exec(t, conn, "BEGIN")
		exec(t, conn, ofOwned[table], []uuid.UUID{id})
		refusedAs(t, lockTimeout, table+": a deletion under way of a row", other, "DELETE FROM agent_execution WHERE id = $1", id)
		exec(t, conn, "COMMIT")
		exec(t, other, "DELETE FROM agent_execution WHERE id = $1", id)
		var left uuid.UUID
		if err := conn.QueryRow(t.Context(), "SELECT agent_execution_id FROM "+table).Scan(&left); err != nil || left != stays {
			t.Errorf("%s: the row of %s is left, want that of %s (%v)", table, left, stays, err)
		}
		if err := audited(t, s); err != nil {
			t.Errorf("%s: %v", table, err)
		}
	}
	exec(t, other, "TRUNCATE agent_execution CASCADE")
	for _, table := range owned {
		var rows int
		if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&rows); err != nil || rows != 0 {
			t.Errorf("%s has %d rows of executions that are gone (%v)", table, rows, err)
		}
	}
}

// TestTheAuditFindsRowsOfNobody checks that the audit finds a row with a missing execution.
func TestTheAuditFindsRowsOfNobody(t *testing.T) {
	for _, table := range owned {
		url := emptyDatabase(t)
		s, conn := open(t, Options{without: optimizations{texts: true}, URL: url}), dialed(t, url)
		exec(t, conn, "SET session_replication_role = replica") // with this setting, no trigger runs
		exec(t, conn, ofOwned[table], []uuid.UUID{uuid.New()})
		if audited(t, s) == nil {
			t.Errorf("a row of %s whose execution is gone is not found", table)
		}
	}
}

// TestTheAuditLooksAtEveryOwner checks that the audit finds a row with a missing execution after
// the first ownersPage executions, and reports nothing about existing executions.
func TestTheAuditLooksAtEveryOwner(t *testing.T) {
	url := emptyDatabase(t)
	s, conn := open(t, Options{without: optimizations{texts: true}, URL: url}), dialed(t, url)
	begin(t, s)
	exec(t, conn, "INSERT INTO agent_execution SELECT (jsonb_populate_record(x, jsonb_build_object('id', gen_random_uuid()))).*"+
		" FROM agent_execution x, generate_series(1, $1::int)", 2*ownersPage+1)
	exec(t, conn, "INSERT INTO log_head SELECT (jsonb_populate_record(h, jsonb_build_object('agent_execution_id', x.id))).*"+
		" FROM log_head h, agent_execution x WHERE x.id <> h.agent_execution_id")
	rows, err := conn.Query(t.Context(), "SELECT id FROM agent_execution")
	if err != nil {
		t.Fatal(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		t.Fatal(err)
	}
	exec(t, conn, "SET session_replication_role = replica") // with this setting, no trigger runs
	for _, table := range owned {
		exec(t, conn, "DELETE FROM "+table)
		exec(t, conn, ofOwned[table], ids)
		if err := owners(t, s); err != nil {
			t.Errorf("%s: %v", table, err)
		}
		exec(t, conn, ofOwned[table], []uuid.UUID{uuid.Max}) // the id follows all other ids
		if err := owners(t, s); err == nil || !strings.Contains(err.Error(), table) {
			t.Errorf("%s: behind %d owners a row of nobody gives %v", table, len(ids), err)
		}
		exec(t, conn, "DELETE FROM "+table)
	}
}

// owners returns what the audit reports about rows with a missing execution.
func owners(t *testing.T, s *Store) error {
	t.Helper()
	for _, err := range s.Audit(t.Context()) {
		if err != nil && strings.Contains(err.Error(), "which is gone") {
			return err
		}
	}
	return nil
}
