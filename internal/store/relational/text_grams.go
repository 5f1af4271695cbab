package relational

import (
	"slices"
	"strings"

	"github.com/google/uuid"
)

// The texts by which executions are found are indexed by blocks of numbers: of each
// block, the executions that have a sequence of three bytes, by sequence. Sequences are
// spread over parts, a row each, so that a block is written with few rows, and one
// sequence is looked for in many blocks by a range of one part.

const (
	// textBlock is how many numbers a block has; a place in it is a byte.
	textBlock = 256
	// textParts is how many rows a block has at most.
	textParts = 128
)

// gram is a sequence of three bytes.
type gram uint32

// part spreads sequences over the parts.
func (g gram) part() int { return int(uint32(g) * 2654435761 >> (32 - 7)) }

// addGrams adds the sequences of a text in small ASCII letters.
func addGrams(all []gram, text string) []gram {
	for i := 0; i+3 <= len(text); i++ {
		all = append(all, gram(text[i])<<16|gram(text[i+1])<<8|gram(text[i+2]))
	}
	return all
}

// foundBy is what an execution is found by.
type foundBy struct {
	number int64
	id     uuid.UUID
	kind   string
	input  []byte // what it begins with
}

// grams returns the sequences of the id's digits, the kind and the input.
func (s *foundBy) grams() []gram {
	all := addGrams(nil, idDigits(s.id))
	all = addGrams(all, lowerASCII(s.kind))
	all = addGrams(all, lowerBytes(s.input))
	slices.Sort(all)
	return slices.Compact(all)
}

func idDigits(id uuid.UUID) string { return strings.ReplaceAll(id.String(), "-", "") }

// lowerBytes is lowerASCII for bytes that may be no UTF-8.
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

// A part of a block is a list of sequences in their order: three bytes, the number of
// places less one, and the places.

// indexTexts returns the parts of a block; nil for one that is empty.
func indexTexts(texts []foundBy) [][]byte {
	var all []uint32 // a sequence and a place
	for i := range texts {
		place := uint32(texts[i].number % textBlock)
		for _, g := range texts[i].grams() {
			all = append(all, uint32(g)<<8|place)
		}
	}
	slices.Sort(all)
	parts := make([][]byte, textParts)
	for len(all) > 0 {
		g := gram(all[0] >> 8)
		n := 1
		for n < len(all) && gram(all[n]>>8) == g {
			n++
		}
		p := append(parts[g.part()], byte(g>>16), byte(g>>8), byte(g), byte(n-1))
		for _, one := range all[:n] {
			p = append(p, byte(one))
		}
		parts[g.part()], all = p, all[n:]
	}
	return parts
}

// entries goes through the sequences of a part until it is told to stop.
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

// placesOf returns the places of a sequence in a part.
func placesOf(part []byte, g gram) (found []byte) {
	entries(part, func(at gram, _, places []byte) bool {
		if at == g {
			found = places
		}
		return at < g
	})
	return found
}

// thinned returns the part with the places that stay, and whether they are fewer.
func thinned(part []byte, stay *[textBlock]bool) (left []byte, fewer bool) {
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

// needle is a text that is looked for, as the sequences that it has, those that are
// rare first.
type needle []gram

// maxGrams bounds the sequences of a needle: more exclude little.
const maxGrams = 4

// needleOf is nil for a text of less than three bytes.
func needleOf(text string) needle {
	all := addGrams(nil, text)
	slices.Sort(all)
	all = slices.Compact(all)
	slices.SortStableFunc(all, func(a, b gram) int { return b.rarity() - a.rarity() })
	return all[:min(len(all), maxGrams)]
}

// often are bytes that are common in texts, the most common first.
const often = " etaoinsrhldcumfpgwybvk\"\\0123456789xjqz"

// rarity guesses how few texts have the sequence.
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

// needlesOf returns what a query is looked for as, any of which may be found; nil if
// one of them is too short to be found by the index.
func needlesOf(query string) []needle {
	plain, escaped := queryTexts(query)
	texts := []string{plain}
	if escaped != plain {
		texts = append(texts, escaped)
	}
	if id := strings.ReplaceAll(plain, "-", ""); id != plain && strings.Trim(id, "0123456789abcdef") == "" {
		texts = append(texts, id)
	}
	all := make([]needle, len(texts))
	for i, text := range texts {
		if all[i] = needleOf(text); all[i] == nil {
			return nil
		}
	}
	return all
}
