package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/server"
)

// TestStoreCheckFindsEveryFault checks that perdure store check finds each kind of damage listed here,
// and finds none in the store of a normal run.
func TestStoreCheckFindsEveryFault(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	write(t, dir, "s", "turn\n  text Hello hello.\n  call bash {\"command\": \"echo out\"}\nturn\n  text End.\n")
	launch(t, dir, "run", "--model", "scripted/s", "go").wantEnd(0)
	launch(t, dir, "store", "backup", "made.db").wantEnd(0)
	made, err := os.ReadFile(filepath.Join(dir, "made.db"))
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"UPDATE store SET created_at = 1":                                                                                                       "", // a change without a finding
		"UPDATE agent_execution SET status = 'RUNNING', completed_at = NULL":                                                                    "a worker holds it: false",
		"UPDATE agent_execution SET status = 'WAITING', completed_at = NULL":                                                                    "WAITING for nothing",
		"UPDATE agent_execution SET completed_at = NULL":                                                                                        "ended at",
		"UPDATE agent_execution SET leaf_entry_id = randomblob(16)":                                                                             "is not there",
		"UPDATE agent_execution SET current_checkpoint_seq = 70":                                                                                "its newest checkpoint cannot be read",
		"UPDATE agent_execution SET leaf_entry_id = (SELECT parent_id FROM agent_entry WHERE answers IS NOT NULL AND answers <> '[]')":          "have no result",
		"UPDATE task_execution SET status = 'RUNNING', completed_at = NULL":                                                                     "no worker holds it",
		"UPDATE task_execution SET status = 'PENDING', completed_at = NULL":                                                                     "and its task",
		"UPDATE task_execution SET completed_at = NULL":                                                                                         "ended at",
		"UPDATE agent_entry SET parent_id = (SELECT id FROM agent_entry WHERE parent_id IS NULL) WHERE answers IS NOT NULL AND answers <> '[]'": "does not fit the conversation",
		"UPDATE agent_entry SET content = CAST(replace(CAST(content AS TEXT), 'Hello hello', 'Hello Hello') AS BLOB)":                           "and not those",
		"UPDATE agent_entry SET depth = depth + 40 WHERE answers IS NOT NULL AND answers <> '[]'":                                               "is at depth",
		"INSERT INTO agent_segment (agent_execution_id, segment, base_segment, base_depth) SELECT id, 3, 0, 1 FROM agent_execution":             "has no entries",
		"DELETE FROM log_record WHERE pos = 2":                                                                                                  "from the position 1 to 3",
		"DELETE FROM log_record WHERE pos = (SELECT max(pos) FROM log_record)":                                                                  "its log ends",
		"UPDATE log_head SET last_seq = last_seq + 1":                                                                                           "events",
		"UPDATE log_block SET content = CAST(replace(CAST(content AS TEXT), 'out', 'Out') AS BLOB) WHERE content IS NOT NULL":                   "and not those",
		"INSERT INTO durable_stream (id, org_id, path, content_type, tail, closed, created_at) VALUES (x'01', 'o', 'p', 't', 3, 0, 1)":          "has a hole",
	} {
		t.Run(query, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "spoiled.db")
			if err := os.WriteFile(path, made, 0o600); err != nil {
				t.Fatal(err)
			}
			db, err := sql.Open("sqlite", "file:"+path)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			done, err := db.Exec(query)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := done.RowsAffected(); err != nil || n == 0 {
				t.Fatalf("the test has changed %d rows, %v", n, err)
			}
			var found []string
			result, err := server.CheckStore(t.Context(), path, func(server.CheckResult) {}, func(f server.CheckFinding) { found = append(found, f.What) })
			if err != nil || result.Findings != int64(len(found)) {
				t.Fatalf("%+v, %v", result, err)
			}
			all := strings.Join(found, "\n")
			if want == "" && all != "" || !strings.Contains(all, want) {
				t.Errorf("it finds\n%s\nwant %q", all, want)
			}
		})
	}
}
