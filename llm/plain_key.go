package llm

import "strings"

const (
	// shortestKey is the minimum length in bytes of a key that is a secret. A shorter key is a
	// placeholder, such as "none" for a local server.
	shortestKey = 8
	// wordKey is the minimum length in bytes of a secret that consists only of words or numbers: a
	// text of this length may be a passphrase.
	wordKey = 20
	// fewCharacters is the maximum number of distinct characters in a key that is not a secret
	// because it is repetitive.
	fewCharacters = 4
)

// PlainKey reports whether a key is a placeholder instead of a secret. A placeholder has fewer than
// 8 bytes, has at most 4 distinct characters, or consists of words or numbers with fewer than 20
// bytes in all, like "not-needed". Guarded does not hide a placeholder, because the word may occur
// in ordinary text.
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

// isWords reports whether a text consists only of words or numbers, with separators between them.
func isWords(text string) bool {
	for _, piece := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune("-_. ", c) }) {
		if !isWord(piece) {
			return false
		}
	}
	return true
}

// isWord reports whether a piece of a key looks like a word, or consists of digits.
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
