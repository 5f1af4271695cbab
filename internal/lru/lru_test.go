package lru

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestOrderOfUse applies random operations to a Map and to a slice of keys in the order of use.
// After each operation, the returned value, the keys and the length must be equal.
func TestOrderOfUse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m Map[int, int]
		var order []int // keys, the least recently used first
		values := map[int]int{}
		touch := func(key int) {
			order = append(slices.DeleteFunc(order, func(k int) bool { return k == key }), key)
		}
		for range rapid.IntRange(1, 200).Draw(t, "operations") {
			key := rapid.IntRange(0, 9).Draw(t, "key")
			_, known := values[key]
			got, want := 0, values[key]
			switch rapid.SampledFrom([]string{"get", "peek", "put", "remove", "oldest"}).Draw(t, "operation") {
			case "get":
				if got = m.Get(key); known {
					touch(key)
				}
			case "peek":
				got = m.Peek(key)
			case "put":
				got = rapid.IntRange(1, 1000).Draw(t, "value")
				want = got
				m.Put(key, got)
				values[key] = got
				touch(key)
			case "remove":
				got = m.Remove(key)
				delete(values, key)
				order = slices.DeleteFunc(order, func(k int) bool { return k == key })
			case "oldest":
				seen := m.Oldest()
				if got, want = m.RemoveOldest(), 0; got != seen {
					t.Fatalf("Oldest returned %d, and RemoveOldest %d", seen, got)
				}
				if len(order) > 0 {
					want = values[order[0]]
					delete(values, order[0])
					order = order[1:]
				}
			}
			if keys := slices.Sorted(m.Keys()); !slices.Equal(keys, slices.Sorted(slices.Values(order))) {
				t.Fatalf("the keys are %v, want %v", keys, order)
			}
			if got != want || m.Len() != len(order) {
				t.Fatalf("returned %d, want %d; %d values, want %d", got, want, m.Len(), len(order))
			}
		}
	})
}
