package sqlite

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store/sql/catalog"
)

// TestUnknownStatusesAreRefused checks that new and migrated databases reject a row with an unknown
// status.
func TestUnknownStatusesAreRefused(t *testing.T) {
	migrated := open(t, Options{Path: oldStore(t, firstVersion)})
	for _, s := range []*Store{open(t, Options{}), migrated} {
		refusesUnknown(t, s)
		if found := count(t, s, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"); found != 0 {
			t.Errorf("the file has %d faults", found)
		}
	}
}

func refusesUnknown(t *testing.T, s *Store) {
	t.Helper()
	x := uuid.New()
	v := s.committer.conn.With(t.Context())
	put := func(query, state string) error {
		_, err := v.Run(query, x[:], state)
		return err
	}
	refuses(t, put, "INSERT INTO agent_execution (id, org_id, kind, status, created_at, updated_at) VALUES (?1, 'o', 'k', ?2, 1, 1)"+
		" ON CONFLICT (id) DO UPDATE SET status = ?2", []string{"PENDING", "RUNNING", "WAITING", "CANCELLING", "COMPLETED", "FAILED", "CANCELLED"})
	for query, states := range map[string][]string{
		"INSERT INTO task_execution (agent_execution_id, id, org_id, kind, status, queue, task_key, input_hash, options, priority, created_at)" +
			" VALUES (?1, ?1, 'o', 'k', ?2, 'q', 't', x'00', '{}', 5, 1) ON CONFLICT (agent_execution_id, id) DO UPDATE SET status = ?2": {
			"PENDING", "RUNNING", "COMPLETED", "FAILED", "INTERRUPTED", "CANCELLED",
		},
		"INSERT INTO agent_signal (agent_execution_id, id, signal_name, state, signal_order, created_at) VALUES (?1, 's', 'n', ?2, 1, 1)" +
			" ON CONFLICT (agent_execution_id, id) DO UPDATE SET state = ?2": {"pending", "taken", "consumed"},
	} {
		refuses(t, put, query, states)
	}
	if _, err := v.Run("DELETE FROM agent_execution WHERE id = ?", x[:]); err != nil {
		t.Fatal(err)
	}
}

func refuses(t *testing.T, put func(query, state string) error, query string, states []string) {
	t.Helper()
	for _, state := range states {
		if err := put(query, state); err != nil {
			t.Errorf("%s: %v", state, err)
		}
	}
	for _, state := range []string{"", "NONE", strings.ToLower(states[0]) + " "} {
		if err := put(query, state); err == nil || !strings.Contains(err.Error(), "CHECK") {
			t.Errorf("%q gives %v", state, err)
		}
	}
}

// TestWritesMakeNoTables checks that no writing statement creates a temporary table.
func TestWritesMakeNoTables(t *testing.T) {
	s := open(t, Options{})
	queries := catalog.Statements(dialect)
	for _, name := range []string{"change agent_execution 3", "change task_execution 1", "take", "consume", "grow"} {
		query := queries[name]
		if query == nil {
			t.Fatalf("there is no statement %q", name)
		}
		err := s.committer.conn.With(t.Context()).Rows("EXPLAIN "+query.Text(), noArguments(query.Text()), func(row func(...any) error) error {
			var op string
			var addr, p1, p2, p3, p4, p5, comment any
			err := row(&addr, &op, &p1, &p2, &p3, &p4, &p5, &comment)
			if op == "OpenEphemeral" {
				t.Errorf("%s opens a table: %s", name, query.Text())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
