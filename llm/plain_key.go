package llm

import "strings"

const (
	// shortestKey is the minimum length in bytes of a key that is a secret. The key of a local server
	// may be a word such as "none".
	shortestKey = 8
	// wordKey is the minimum length in bytes of a secret key that consists only of words or numbers. A
	// key of this length may be a passphrase.
	wordKey = 20
	// fewCharacters is the limit for repetitive keys: a key with at most so many distinct
	// characters is not a secret.
	fewCharacters = 4
)

// PlainKey reports whether a key is a placeholder instead of a secret. A placeholder has fewer
// than 8 bytes, has at most 4 distinct characters, or consists of words or numbers with fewer than
// 20 bytes in all, like "not-needed". Guarded does not hide a placeholder, because that would
// damage ordinary text that contains the word.
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
