package perdure_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/perdure/perdure"
)

// TestFeaturesHaveNames checks that features are converted to their names and back, with and without
// JSON. Unknown names and bits are left out.
func TestFeaturesHaveNames(t *testing.T) {
	for text, f := range map[string]perdure.Features{`[]`: 0, `["context/1"]`: perdure.FeatureContext} {
		got, err := json.Marshal(f)
		if err != nil || string(got) != text {
			t.Errorf("%d is %s, want %s: %v", f, got, text, err)
		}
		var back perdure.Features
		if err := json.Unmarshal([]byte(text), &back); err != nil || back != f {
			t.Errorf("%s is read as %d: %v", text, back, err)
		}
	}
	if got := perdure.FeaturesOf([]string{"context/2", "context/1", ""}); got != perdure.FeatureContext {
		t.Errorf("unknown names give %d", got)
	}
	if d := cmp.Diff([]string{"context/1"}, (perdure.FeatureContext | 1<<50).Names()); d != "" {
		t.Error(d)
	}
	if perdure.AllFeatures.Lacks(perdure.FeatureContext) != 0 || perdure.Features(0).Lacks(perdure.FeatureContext) == 0 {
		t.Error("Lacks is wrong")
	}
}
