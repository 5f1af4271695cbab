package terminal

import (
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

func TestNumbersForPeople(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := grouped(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
	cost := 0.01234
	u := perdure.Usage{Input: 1200, Output: 5, CacheRead: 7, Calls: 1, Cost: &cost}
	if got, want := usageText(u), "1 call · in 1,200 · out 5 · cache read 7 · $0.0123"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	both := map[string]perdure.Usage{"a/x": u, "a/y": {Calls: 1}}
	if got := totalText(u, both); !strings.HasSuffix(got, " · >= $0.0123") {
		t.Errorf("with a model without a price: %s", got)
	}
	both["a/y"] = perdure.Usage{Calls: 1, Cost: &cost}
	if got := totalText(u, both); !strings.HasSuffix(got, " · $0.0123") {
		t.Errorf("with prices for all models: %s", got)
	}
	u.Cost = nil
	if got := totalText(u, map[string]perdure.Usage{"a/x": u, "a/y": u}); !strings.HasSuffix(got, " · cost unknown") {
		t.Errorf("without prices: %s", got)
	}
	if got := usageText(u); !strings.HasSuffix(got, "cost unknown") {
		t.Error(got)
	}
}
