package perdure_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
)

// TestUsageAddsWhatIsKnown checks that an unknown cost, or an unknown count of reasoning tokens, adds
// nothing. The sum is known if one of the two is known.
func TestUsageAddsWhatIsKnown(t *testing.T) {
	told := perdure.Usage{Input: 1, Output: 5, Reasoning: new(int64(3)), Cost: new(0.5), Calls: 1}
	silent := perdure.Usage{Input: 1, Output: 5, Calls: 1}
	for name, c := range map[string]struct{ a, b, want perdure.Usage }{
		"neither": {silent, silent, perdure.Usage{Input: 2, Output: 10, Calls: 2}},
		"first":   {told, silent, perdure.Usage{Input: 2, Output: 10, Reasoning: new(int64(3)), Cost: new(0.5), Calls: 2}},
		"second":  {silent, told, perdure.Usage{Input: 2, Output: 10, Reasoning: new(int64(3)), Cost: new(0.5), Calls: 2}},
		"both":    {told, told, perdure.Usage{Input: 2, Output: 10, Reasoning: new(int64(6)), Cost: new(1.0), Calls: 2}},
	} {
		if diff := cmp.Diff(c.want, c.a.Add(c.b)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if *told.Reasoning != 3 || *told.Cost != 0.5 {
		t.Error("what was added has changed")
	}
}
