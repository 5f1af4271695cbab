package openai_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/retention"
)

// pruneEnded prunes until the only ended run, or its log, is gone. The retention policy allows the
// deletion one millisecond after the end of the run.
func (s *stage) pruneEnded() {
	s.t.Helper()
	for s.t.Context().Err() == nil {
		r, err := s.engine.Pruner.Prune(s.t.Context(), "default", retention.PruneRequest{})
		if err != nil || r.Executions.Count+r.Logs.Count > 1 {
			s.t.Fatalf("pruned %+v, %v", r, err)
		}
		if r.Executions.Count+r.Logs.Count == 1 {
			return
		}
	}
}

// TestAResponseOfAPrunedLogIsNotFound checks that no request finds a response whose log was pruned.
// The reply is an error, not a part of the response or another response.
func TestAResponseOfAPrunedLogIsNotFound(t *testing.T) {
	s := newStage(t, says("one"), says("two"))
	body := `{"model":"test/m","input":"a"}`
	first := s.keyed("k", body).object()
	second := s.create(`"input":"b","previous_response_id":"` + first.ID + `"`).object()
	row, err := s.store.Response(t.Context(), "default", first.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.engine.Cancel(t.Context(), "default", row.Execution); err != nil {
		t.Fatal(err)
	}
	period := perdure.Period(time.Millisecond)
	if _, err := s.engine.SetRetention(t.Context(), "default", perdure.Retention{Logs: &period}); err != nil {
		t.Fatal(err)
	}
	s.pruneEnded()
	for _, id := range []string{first.ID, second.ID} {
		s.call("GET", "/v1/responses/"+id, "").refused(404, "", "not_found")
		s.call("GET", "/v1/responses/"+id+"?stream=true", "").refused(404, "", "not_found")
		s.create(`"input":"c","previous_response_id":"`+id+`"`).refused(400, "previous_response_id", "previous_response_not_found")
	}
	s.keyed("k", body).refused(404, "", "not_found")
}
