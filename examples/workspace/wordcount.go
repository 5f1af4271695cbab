// Package wordcount counts words.
package wordcount

import "strings"

// Count returns how often each word occurs in text, ignoring case. A word is a run of letters.
// Punctuation is not part of a word.
func Count(text string) map[string]int {
	counts := map[string]int{}
	for _, word := range strings.Split(text, " ") {
		counts[strings.ToLower(word)]++
	}
	return counts
}
