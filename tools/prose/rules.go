package main

import (
	"regexp"
	"strings"
)

// rule is a difficult phrase, and what to write instead.
type rule struct {
	found   *regexp.Regexp
	instead string
}

// maxWords is the maximum number of words of a sentence.
const maxWords = 40

var rules = []rule{
	{regexp.MustCompile(`\bgives?\b`), "returns, reports, sets, passes"},
	{regexp.MustCompile(`\btells? (?:whether|if|how|which|where|when)\b`), "reports whether"},
	{regexp.MustCompile(`^\S+ makes (?:an?|the) `), "creates a"},
	{regexp.MustCompile(`\banew\b`), "again"},
	{regexp.MustCompile(`\bbe it\b`), "whether"},
	{regexp.MustCompile(`\b(?:is|are|was|were) told of\b`), "is notified of"},
	{regexp.MustCompile(`\brests? (?:in|at|on|there|with|once|twice)\b`), "is stored"},
	{regexp.MustCompile(`\bwhat (?:is|was) \w+ is what\b`), "name the thing"},
	{regexp.MustCompile(`\b(?:that|those) of the one\b`), "repeat the noun"},
	{regexp.MustCompile(`\b(?:goes|go|went) on\b`), "continues, resumes"},
}

// allowed matches phrases that contain the words of a rule with another meaning.
var allowed = regexp.MustCompile(`\bgives? (?:\w+ ){0,4}(?:up|back|way|in|rise)\b`)

// faults returns the findings of all rules in a sentence.
func faults(sentence string) []string {
	var found []string
	rest := allowed.ReplaceAllString(sentence, "")
	for _, r := range rules {
		if at := r.found.FindString(rest); at != "" {
			found = append(found, "“"+strings.TrimSpace(at)+"”: write "+r.instead)
		}
	}
	if words := len(strings.Fields(sentence)); words > maxWords {
		found = append(found, "more than 40 words: make two sentences of it")
	}
	return found
}
