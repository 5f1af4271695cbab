package react

import (
	"encoding/json"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// TestACallWithoutAPriceHasNoCost checks that the cost in the record of a call always has all its
// members. A member is null, not absent, if it is unknown.
func TestACallWithoutAPriceHasNoCost(t *testing.T) {
	total := 3.0
	for want, a := range map[string]modelAnswer{
		`{"input":null,"output":null,"total":null}`: {Content: perdure.Content{Usage: &perdure.Usage{}}},
		`{"input":null,"output":null,"total":3}`:    {Content: perdure.Content{Usage: &perdure.Usage{Cost: &total}}},
		`{"input":1,"output":2,"total":3}`: {
			Content: perdure.Content{Usage: &perdure.Usage{Cost: &total}}, Cost: &llm.Cost{Input: 1, Output: 2, Total: 3},
		},
	} {
		got, err := json.Marshal(llmCall(perdure.ModelConfig{}, a, nil)["cost"])
		if err != nil || string(got) != want {
			t.Errorf("the cost is %s (%v), want %s", got, err, want)
		}
	}
}
