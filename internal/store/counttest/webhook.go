package counttest

import (
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// Webhook stores a webhook of the org. The webhook wants every event.
func Webhook(t testing.TB, s store.Store, org string) {
	t.Helper()
	_, err := s.Do(t.Context(), store.Command{Name: "test", Lane: store.LaneCommits, Org: org, Decide: func(st *store.State) (*store.Changes, error) {
		return &store.Changes{Webhook: &perdure.Webhook{
			ID: uuid.New(), Org: org, URL: "https://example.com", Events: []string{"*"}, Enabled: true, CreatedAt: st.Now, UpdatedAt: st.Now, Version: 1,
		}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
}
