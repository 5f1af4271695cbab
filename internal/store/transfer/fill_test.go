package transfer

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/store/sqlite"
)

// said contains values for columns that do not accept every value: columns with a CHECK constraint,
// and columns that refer to other rows.
var said = map[string]any{
	"persistence_mode": "LOCAL", "agent_execution.status": "WAITING", "task_execution.status": "RUNNING", "agent_signal.state": "taken", "api_key.role": "client", "question.status": "answered", "delivery.status": "dead", "approval_grant.scope": "run", "approval_grant.match_kind": "tool", "bulk_action.status": "running",
	"agent_execution_id": id(1), "agent_execution.id": id(1), "agent_definition_id": id(2), "agent_definition.id": id(2),
	"agent_entry.id": id(3), "parent_id": id(4), "leaf_entry_id": id(3), "blob.id": id(5), "blob_chunk.id": id(5), "durable_stream.id": id(6), "stream_id": id(6),
	"question.id": id(7), "question_id": id(7), "conversation_id": "conversation.id ä 😀 \\ \" \n\t",
}

// placed contains columns that may be NULL in the schema, although each row of a real store has a
// value in them. If the source has NULL there, the target sets a value.
var placed = map[string]bool{"agent_entry.segment": true, "agent_entry.depth": true}

func id(n byte) []byte {
	b := make([]byte, 16)
	b[0], b[15] = n, 0xff
	return b
}

// filled returns the path of a store's file with two rows in every table of the schema. One row has
// a value in every column. The other row has values only in the required columns, and these are
// empty.
func filled(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "perdure.db")
	if template == nil {
		var err error
		if template, err = os.ReadFile(fillAll(t)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, template, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// template is the content of the file that the first call of filled has created.
var template []byte

func fillAll(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "perdure.db")
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, table := range column[string](t, db, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT IN ('goose_db_version', 'store')") {
		fill(t, db, table)
	}
	if left := column[string](t, db, "SELECT \"table\" FROM pragma_foreign_key_check"); len(left) > 0 {
		t.Fatalf("rows of %v refer to none; say in this file what they refer to", left)
	}
	return path
}

func column[T any](t *testing.T, db *sql.DB, query string, args ...any) (all []T) {
	t.Helper()
	rows, err := db.Query(query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func fill(t *testing.T, db *sql.DB, table string) {
	t.Helper()
	names := column[string](t, db, "SELECT name FROM pragma_table_info(?) ORDER BY cid", table)
	types := column[string](t, db, "SELECT type FROM pragma_table_info(?) ORDER BY cid", table)
	needed := column[bool](t, db, "SELECT \"notnull\" AND dflt_value IS NULL OR pk > 0 FROM pragma_table_info(?) ORDER BY cid", table)
	uuids := map[string]bool{}
	for i, name := range names {
		uuids[name] = types[i] == "BLOB" && (name == "id" || strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "_blob"))
	}
	insert := func(columns []string, values []any) {
		t.Helper()
		marks := strings.TrimSuffix(strings.Repeat("?, ", len(values)), ", ")
		if _, err := db.Exec("INSERT INTO "+table+" ("+strings.Join(columns, ", ")+") VALUES ("+marks+")", values...); err != nil {
			t.Fatalf("%s: %v", table, err)
		}
	}
	var whole, bare []any
	var few []string
	for i, name := range names {
		value, known := said[table+"."+name]
		if !known {
			value, known = said[name]
		}
		least := value
		switch {
		case known && table == "agent_entry" && name == "id":
			least = id(4) // the parent of the other entry
		case known && name == "id" && table != "blob_chunk":
			least = id(value.([]byte)[0] + 100)
		case known:
		case uuids[name]:
			value, least = id(byte(10+i)), id(byte(60+i))
		case types[i] == "INTEGER":
			value, least = int64(i+1), int64(0)
		case types[i] == "TEXT":
			value, least = fmt.Sprintf("%s.%s ä 😀 \\ \" \n\t", table, name), ""
		default:
			value, least = []byte{0, 0xff, byte(i), '\\'}, []byte{}
		}
		whole = append(whole, value)
		if needed[i] || placed[table+"."+name] {
			few, bare = append(few, name), append(bare, least)
		}
	}
	if _, err := db.Exec("PRAGMA foreign_keys = 0"); err != nil {
		t.Fatal(err)
	}
	insert(names, whole)
	if single := column[int](t, db, "SELECT count(*) FROM pragma_table_info(?) WHERE pk > 0 AND name <> 'agent_execution_id'", table); single[0] > 0 {
		insert(few, bare)
	}
}
