package e2e

import (
	"net/http"
	"testing"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/llmtest"
)

// TestStoredPathsAreAcceptedByAimock checks that aimock accepts the requests of all providers for a
// fixed sample of stored conversations. aimock is a strict mock that another project develops. The
// parts of a conversation may come from several providers.
func TestStoredPathsAreAcceptedByAimock(t *testing.T) {
	const sample = 60
	mock := startAimock(t, fixture{Response: turn{Text: "ok", Usage: tokens(1, 1)}})
	seen := &recorder{next: http.DefaultTransport.(*http.Transport).Clone()}
	t.Cleanup(seen.next.CloseIdleConnections)
	providers := mock.providers(t, seen)
	paths := rapid.Custom(llmtest.DrawPath)
	for seed := range sample {
		path := paths.Example(seed)
		for _, s := range stations {
			p, err := providers.Lookup(s.model.Provider)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := p.Stream(t.Context(), llm.Request{Model: s.model.ID, Messages: path.Messages}, func(llm.Delta) error { return nil })
			if err != nil || resp.PlainText() != "ok" {
				t.Errorf("path %d, %s: %v\n%s", seed, s.model, err, seen.body)
			} else if err := s.wire.Check(seen.body); err != nil {
				t.Errorf("path %d: %s would refuse: %v\n%s", seed, s.model, err, seen.body)
			}
		}
	}
	if n := len(mock.calls()); n != sample*len(stations) {
		t.Errorf("aimock got %d calls, want %d", n, sample*len(stations))
	}
}
