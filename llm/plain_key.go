package llm

import "strings"

const (
	// wordKey is the length, in bytes, below which a key of words or numbers alone is no
	// secret: a longer one may be a passphrase.
	wordKey = 20
	// fewCharacters is how many different characters no secret has.
	fewCharacters = 4
)

// PlainKey reports whether a key is no secret by its looks: it is short, consists of
// words or numbers like "password" and "not-needed", or of few different characters.
// Such a key is not hidden in what a provider answers: it stands in ordinary text, too,
// which would be damaged, and a gap in the place of a word would give it away.
func PlainKey(key string) bool {
	if len(key) < shortestKey {
		return true
	}
	different := map[rune]bool{}
	for _, c := range key {
		different[c] = true
	}
	return len(different) <= fewCharacters || len(key) < wordKey && isWords(key)
}

// isWords reports whether a text is words or numbers with separators between them.
func isWords(text string) bool {
	for _, piece := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune("-_. ", c) }) {
		if !isWord(piece) {
			return false
		}
	}
	return true
}

// isWord reports whether a piece is letters as a word has them, or digits.
func isWord(piece string) bool {
	of := func(from, to byte, text string) bool {
		for i := range len(text) {
			if text[i] < from || text[i] > to {
				return false
			}
		}
		return true
	}
	capital := piece[0] >= 'A' && piece[0] <= 'Z'
	return of('0', '9', piece) || of('a', 'z', piece) || of('A', 'Z', piece) || capital && of('a', 'z', piece[1:])
}
