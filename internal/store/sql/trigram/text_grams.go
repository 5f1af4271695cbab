// Package trigram encodes the text index of executions. A trigram is a sequence of three bytes. For
// each trigram, the index lists the executions whose texts contain it.
package trigram

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// QueryTexts returns the two forms in which a query is searched for: plain, and escaped as JSON. Both
// forms are in lower case.
func QueryTexts(query string) (plain, escaped string) {
	plain = lowerASCII(query)
	quoted, err := json.Marshal(query)
	if err != nil {
		return plain, plain // a string can always be encoded
	}
	return plain, lowerASCII(string(quoted[1 : len(quoted)-1]))
}

// lowerASCII converts ASCII letters to lower case, like SQLite's lower.
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// The index covers the texts by which executions are found, in blocks of execution numbers. For
// each block, it lists which executions have which trigrams. The trigrams of a block are
// distributed over parts, and each part is one row. A block thus has few rows, and a search for one
// trigram reads one part of many blocks, which is a range of rows.
//

const (
	// TextBlock is the number of executions in one block of the index. The place of an execution in
	// its block therefore fits into one byte.
	TextBlock = 256
	// TextParts is the number of parts into which a block is divided. It is the maximum number of
	// rows of a block, because empty parts have no row.
	TextParts = 128
)

// gram is a trigram: a sequence of three bytes.
type gram uint32

// Part returns the number of the part that contains a trigram. The parts get about equally many
// trigrams.
func (g gram) Part() int { return int(uint32(g) * 2654435761 >> (32 - 7)) }

// AddGrams appends the trigrams of a text in lower case.
func AddGrams(all []gram, text string) []gram {
	for i := 0; i+3 <= len(text); i++ {
		all = append(all, gram(text[i])<<16|gram(text[i+1])<<8|gram(text[i+2]))
	}
	return all
}

// FoundBy contains the texts of one execution by which a query finds it.
type FoundBy struct {
	Number int64
	ID     uuid.UUID
	Kind   string
	Input  []byte // the start of the execution's input
}

// grams returns the trigrams of the id's digits, the kind and the input, sorted.
func (s *FoundBy) grams() []gram {
	all := AddGrams(nil, IDDigits(s.ID))
	all = AddGrams(all, lowerASCII(s.Kind))
	all = AddGrams(all, lowerBytes(s.Input))
	slices.Sort(all)
	return slices.Compact(all)
}

// IDDigits returns an id in the form in which it is indexed: its digits, without dashes.
func IDDigits(id uuid.UUID) string { return strings.ReplaceAll(id.String(), "-", "") }

// lowerBytes is lowerASCII for bytes that may be invalid UTF-8.
func lowerBytes(text []byte) string {
	lower := make([]byte, len(text))
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	return string(lower)
}

// A part of a block is a sorted list of trigrams. Each trigram is encoded as its three bytes, one
// byte with the number of its places minus one, and one byte for each place. A place is the number,
// within the block, of an execution whose texts contain the trigram.
//

// IndexTexts returns the parts of the index of a block whose executions have these texts. A part
// without trigrams is nil.
func IndexTexts(texts []FoundBy) [][]byte {
	var all []uint32 // each number combines a trigram and a place
	for i := range texts {
		place := uint32(texts[i].Number % TextBlock)
		for _, g := range texts[i].grams() {
			all = append(all, uint32(g)<<8|place)
		}
	}
	slices.Sort(all)
	parts := make([][]byte, TextParts)
	for len(all) > 0 {
		g := gram(all[0] >> 8)
		n := 1
		for n < len(all) && gram(all[n]>>8) == g {
			n++
		}
		p := append(parts[g.Part()], byte(g>>16), byte(g>>8), byte(g), byte(n-1))
		for _, one := range all[:n] {
			p = append(p, byte(one))
		}
		parts[g.Part()], all = p, all[n:]
	}
	return parts
}

// entries calls a function for the trigrams of a part, in order. It stops when the function returns
// false.
func entries(part []byte, each func(g gram, whole, places []byte) bool) {
	for len(part) >= 5 {
		end := 4 + int(part[3]) + 1
		if end > len(part) {
			return
		}
		if !each(gram(part[0])<<16|gram(part[1])<<8|gram(part[2]), part[:end], part[4:end]) {
			return
		}
		part = part[end:]
	}
}

// PlacesOf returns the places of the executions that have a trigram, according to one part of the
// block.
func PlacesOf(part []byte, g gram) (found []byte) {
	entries(part, func(at gram, _, places []byte) bool {
		if at == g {
			found = places
		}
		return at < g
	})
	return found
}

// Thinned returns a part with only those places for which `stay` is true. The result `fewer`
// reports whether any place was removed.
func Thinned(part []byte, stay *[TextBlock]bool) (left []byte, fewer bool) {
	left = make([]byte, 0, len(part))
	entries(part, func(_ gram, whole, places []byte) bool {
		begin := len(left)
		left = append(left, whole[:4]...)
		for _, place := range places {
			if stay[place] {
				left = append(left, place)
			}
		}
		switch n := len(left) - begin - 4; n {
		case len(places):
		case 0:
			left, fewer = left[:begin], true
		default:
			left[begin+3], fewer = byte(n-1), true
		}
		return true
	})
	return left, fewer
}

// Needle contains some trigrams of a text that is searched for, the rarest first. A text that
// lacks one of these trigrams cannot contain the searched text.
type Needle []gram

// maxGrams is the maximum number of trigrams of a needle. More trigrams would exclude few further
// candidates.
const maxGrams = 4

// needleOf returns trigrams that every text containing `text` must have: the rarest trigrams of
// `text`, at most maxGrams of them. It returns nil if `text` has less than three bytes.
func needleOf(text string) Needle {
	all := AddGrams(nil, text)
	slices.Sort(all)
	all = slices.Compact(all)
	slices.SortStableFunc(all, func(a, b gram) int { return b.rarity() - a.rarity() })
	return all[:min(len(all), maxGrams)]
}

// often contains bytes that are common in texts, the most common first.
const often = " etaoinsrhldcumfpgwybvk\"\\0123456789xjqz"

// rarity returns an estimate of how rare the trigram is in texts; the greater, the rarer.
func (g gram) rarity() (sum int) {
	for _, c := range []byte{byte(g >> 16), byte(g >> 8), byte(g)} {
		at := strings.IndexByte(often, c)
		if at < 0 {
			at = len(often)
		}
		sum += at
	}
	return sum
}

// NeedlesOf returns a needle for each form of a query: plain, escaped as JSON, and as digits of an
// id. An execution may match the query only if it has all trigrams of one of these needles.
// NeedlesOf returns nil if a form is too short for the index.
func NeedlesOf(query string) []Needle {
	plain, escaped := QueryTexts(query)
	texts := []string{plain}
	if escaped != plain {
		texts = append(texts, escaped)
	}
	if id := strings.ReplaceAll(plain, "-", ""); id != plain && strings.Trim(id, "0123456789abcdef") == "" {
		texts = append(texts, id)
	}
	all := make([]Needle, len(texts))
	for i, text := range texts {
		if all[i] = needleOf(text); all[i] == nil {
			return nil
		}
	}
	return all
}
