package trigram

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// TestPartsHaveWhatTextsHave checks that the index of a block of texts contains the trigrams of
// each text, and that removing one text does not affect the others.
func TestPartsHaveWhatTextsHave(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	var texts []FoundBy
	for i := range TextBlock {
		words := make([]string, 1+r.IntN(30))
		for k := range words {
			words[k] = fmt.Sprint("Word", r.IntN(500), "é")
		}
		texts = append(texts, FoundBy{Number: 512 + int64(i), ID: uuid.New(), Kind: "Kind-" + fmt.Sprint(i%7), Input: []byte(strings.Join(words, " "))})
	}
	parts := IndexTexts(texts)
	if len(parts) != TextParts {
		t.Fatalf("a block has %d parts", len(parts))
	}
	check := func(gone ...int) {
		t.Helper()
		for i, text := range texts {
			for _, g := range text.grams() {
				if has := slices.Contains(PlacesOf(parts[g.Part()], g), byte(i)); has == slices.Contains(gone, i) {
					t.Fatalf("text %d has %06x: %v in its part, with %d taken out", i, uint32(g), has, gone)
				}
			}
		}
	}
	check()
	var stay [TextBlock]bool
	for i := range texts {
		stay[i] = i != 17 && i != 18
	}
	had := 0
	for i := range parts {
		left, fewer := Thinned(parts[i], &stay)
		if fewer != (len(left) != len(parts[i])) {
			t.Errorf("of %d bytes %d are left, fewer: %v", len(parts[i]), len(left), fewer)
		}
		if fewer {
			had++
		}
		if _, again := Thinned(left, &stay); again {
			t.Error("something is taken out twice")
		}
		parts[i] = left
	}
	if had == 0 {
		t.Error("nothing was taken out")
	}
	check(17, 18)
	for i := range parts {
		entries(parts[i], func(_ gram, whole, places []byte) bool {
			if len(whole) != 4+len(places) || len(places) == 0 || slices.Contains(places, 17) || slices.Contains(places, 18) {
				t.Errorf("a part has the entry %x", whole)
			}
			return true
		})
	}
}

// TestNeedlesAreOfTheirText checks that all trigrams of a needle are in the text that is searched
// for.
func TestNeedlesAreOfTheirText(t *testing.T) {
	for query, want := range map[string]int{"": -1, "ab": -1, "abc": 1, "Say \"Grüße\"": 2, "0199-aaaa": 2, "e-mail": 1, "a-b": -1} {
		got := NeedlesOf(query)
		if want < 0 {
			if got != nil {
				t.Errorf("%q is looked for as %v", query, got)
			}
			continue
		}
		if len(got) != want || len(got[0]) > maxGrams {
			t.Errorf("%q is looked for as %v", query, got)
		}
		plain, _ := QueryTexts(query)
		all := AddGrams(nil, "before "+plain+" after")
		for _, g := range got[0] {
			if !slices.Contains(all, g) {
				t.Errorf("%q is looked for by %06x", query, uint32(g))
			}
		}
	}
}
