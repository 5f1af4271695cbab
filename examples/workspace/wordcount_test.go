package wordcount

import (
	"maps"
	"testing"
)

func TestCount(t *testing.T) {
	for text, want := range map[string]map[string]int{
		"":                           {},
		"one two  two":               {"one": 1, "two": 2},
		"The end. The END!":          {"the": 2, "end": 2},
		"tabs\tand\nlines, and more": {"tabs": 1, "and": 2, "lines": 1, "more": 1},
	} {
		if got := Count(text); !maps.Equal(got, want) {
			t.Errorf("Count(%q) = %v, want %v", text, got, want)
		}
	}
}
