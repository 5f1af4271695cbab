package sqlite

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store/sql/catalog"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// wholeTables lists the statements that may scan or sort a whole table or index, by the beginning
// of the statement. The value says why that is cheap.
var wholeTables = map[string]string{
	"SELECT b.task_id, b.attempt, b.seq, b.type, b.stream":                                      "the open chunks of one execution, which a commit bounds",
	"SELECT count(*) FILTER (WHERE name = 'goose_db_version')":                                  "the schema, once, when a server starts",
	"SELECT coalesce(max(version_id), 0)":                                                       "a row for each migration, once, when a server starts",
	"SELECT wait_reason, count(*)":                                                              "a count of what has not ended, by an index of nothing else",
	"SELECT status, count(*)":                                                                   "a count of what has not ended, by an index of nothing else",
	"SELECT count(*) FROM delivery INDEXED BY idx_delivery_due":                                 "a count of what waits, by an index of nothing else",
	"SELECT queue, count(*)":                                                                    "a count of what has not ended, by an index of nothing else",
	"SELECT org_id, agent, kind, description":                                                   "the kinds of one org, which are as many as its workers register",
	"SELECT s.path, c.upto FROM durable_stream s":                                               "the check of a whole store, on demand",
	"UPDATE delivery SET due_at":                                                                "what one server was sending, once, when it starts, by an index of what waits",
	"SELECT d.webhook_id, d.id FROM delivery d LEFT JOIN webhook w":                             "the check of a whole store, on demand",
	"SELECT x.number, x.id FROM agent_execution x":                                              "the check of a whole store, on demand, page by page",
	"SELECT DISTINCT b.agent_execution_id":                                                      "uploads that no commit names, by an index of nothing else",
	"SELECT number FROM agent_execution INDEXED BY idx_agent_execution_held":                    "what is held, as many as one page examines",
	"SELECT number FROM agent_execution INDEXED BY idx_agent_execution_waiting":                 "what waits, as many as one page examines",
	"SELECT CAST(coalesce(sum(coalesce(length(state), 0)":                                       "the checkpoints that were found to be prunable, of one execution",
	"SELECT x.number, x.id, x.org_id, x.kind, x.status, min(c.created_at)":                      "the checkpoints that a sweep is about to delete, by an index of those alone",
	"SELECT x.number, x.id, x.org_id, x.kind, x.status, x.completed_at, 1 FROM agent_retention": "what a sweep is about to delete, by an index of that alone",
	"SELECT DISTINCT sender_key_id FROM agent_signal":                                           "the signals of one run, only for a question of an earlier build that excludes its askers",
	"WITH RECURSIVE place":                                                                      "leases that are over, of what runs",
	"WITH RECURSIVE holder":                                                                     "leases that are over, of what runs",
	"SELECT id, NULL FROM agent_execution INDEXED BY idx_agent_execution_held":                  "what the workers of one process held, once, when it starts",
	"SELECT 1 FROM sqlite_schema":                                                               "as many rows as there are tables",
	"SELECT epoch FROM store":                                                                   "one row",
	"SELECT found.agent_execution_id, NULL FROM":                                                "questions that are due are sorted by execution, at most 100 for each that is picked",
	"SELECT EXISTS (SELECT 1 FROM api_key":                                                      "keys are few, and the first that is valid ends it",
}

var (
	// scanned matches a step of a query plan that reads too many rows: a whole table or index, a
	// range of row numbers across all orgs, or all executions of an org. Scans of the names in the
	// map `listed` are allowed.
	scanned = regexp.MustCompile(`^SCAN (\w+)|^SEARCH \w+ USING INTEGER PRIMARY KEY \(rowid[<>]|^SEARCH \w+ USING INDEX idx_agent_execution_org \(org_id=\?\)`)
	sorted  = regexp.MustCompile(`^USE TEMP B-TREE FOR`)
)

// TestEveryStatementUsesIndexes checks that every statement finds its rows by an index, and sorts
// no unlimited number of rows. It checks the statements of the package catalog, and those that the
// tests of storetest.Run have run. As in a new installation, SQLite's planner has no statistics of
// the tables.
func TestEveryStatementUsesIndexes(t *testing.T) {
	longtest.Skip(t, "seconds")
	known := contractStatements(t)
	if len(known) < 200 {
		t.Fatalf("only %d statements were run", len(known))
	}
	for _, all := range []map[string]*statement.Statement{catalog.Statements(dialect), catalog.ListStatements(dialect)} {
		for _, query := range all {
			known[query.Text()] = true
		}
	}
	s := open(t, Options{})
	used := map[string]bool{}
	for query := range known {
		if !strings.HasPrefix(query, "SELECT") && !strings.HasPrefix(query, "WITH") && !strings.HasPrefix(query, "UPDATE") && !strings.HasPrefix(query, "DELETE") && !strings.HasPrefix(query, "INSERT") {
			continue // the statement is BEGIN, COMMIT or a pragma
		}
		for _, step := range plan(t, s, query) {
			if found := scanned.FindStringSubmatch(step); !sorted.MatchString(step) && (found == nil || listed[found[1]] || found[1] == "m" || partial(step)) {
				continue
			}
			begins, reason := excepted(query)
			if reason == "" {
				begins, _, _ = strings.Cut(query, " WHERE ")
				if !used[begins] {
					t.Errorf("%s\n\t%s", query, step)
				}
			}
			used[begins] = true
		}
	}
	for begins := range wholeTables {
		if !used[begins] {
			t.Errorf("%s uses an index, or is no statement any more: it is no exception", begins)
		}
	}
}

func excepted(query string) (begins, reason string) {
	for begins, reason := range wholeTables {
		if strings.HasPrefix(query, begins) {
			return begins, reason
		}
	}
	return "", ""
}

// statementsOf returns the statements that the store's connections have compiled.
func statementsOf(s *Store) []string {
	return slices.AppendSeq(slices.Collect(maps.Keys(s.costs())), maps.Keys(s.pool.Costs()))
}
