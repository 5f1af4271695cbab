package react

import (
	"fmt"
	"testing"

	"github.com/perdure/perdure"
)

// TestUsageByModelIsBounded checks the usage in a checkpoint of a run with very many models. The
// usage of the first models is stored by model, and the usage of all further models as one sum.
func TestUsageByModelIsBounded(t *testing.T) {
	var s state
	for i := range 3 * maxCountedModels {
		s.count(perdure.ModelConfig{Provider: "p", ModelID: fmt.Sprint(i)}, perdure.Usage{Input: 1, TotalTokens: 1})
	}
	s.count(perdure.ModelConfig{Provider: "p", ModelID: "0"}, perdure.Usage{Input: 1, TotalTokens: 1})
	var sum int64
	for _, u := range s.UsageByModel {
		sum += int64(u.Input)
	}
	if n := len(s.UsageByModel); n != maxCountedModels+1 {
		t.Errorf("the usage is kept of %d models", n)
	}
	if sum != 3*maxCountedModels+1 || int64(s.TotalUsage.Input) != sum || s.UsageByModel["p/0"].Input != 2 {
		t.Errorf("counted %d, in total %d, p/0 %d", sum, s.TotalUsage.Input, s.UsageByModel["p/0"].Input)
	}
}
