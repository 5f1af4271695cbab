package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
)

// sentence is a sentence of a comment, with the place of the comment.
type sentence struct {
	file string
	line int
	text string
}

// inGo returns the sentences of a Go file's comments, without code and directives.
func inGo(name string, src []byte) ([]sentence, error) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(f) {
		return nil, err
	}
	var all []sentence
	for _, group := range f.Comments {
		line := files.Position(group.Pos()).Line
		for _, paragraph := range paragraphs(group) {
			for _, text := range split(paragraph) {
				all = append(all, sentence{name, line, text})
			}
		}
	}
	return all, nil
}

// paragraphs returns the paragraphs of a comment, without list markers and code.
func paragraphs(group *ast.CommentGroup) []string {
	var all []string
	var text []string
	end := func() {
		if len(text) > 0 {
			all = append(all, strings.Join(text, " "))
		}
		text = nil
	}
	for line := range strings.SplitSeq(group.Text(), "\n") {
		switch trimmed := strings.TrimSpace(line); {
		case trimmed == "" || strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "#"):
			end()
		case strings.HasPrefix(trimmed, "- "):
			end()
			text = append(text, strings.TrimPrefix(trimmed, "- "))
		default:
			text = append(text, trimmed)
		}
	}
	end()
	return all
}

var sentenceEnd = regexp.MustCompile(`[.!?:]['")\x60]*\s+(?:[A-Z\x60"(\[])`)

// split returns the sentences of a text that have at least three words.
func split(text string) []string {
	var all []string
	add := func(s string) {
		if s = strings.TrimSpace(s); len(strings.Fields(s)) >= 3 {
			all = append(all, s)
		}
	}
	for {
		at := sentenceEnd.FindStringIndex(text)
		if at == nil {
			add(text)
			return all
		}
		add(text[:at[1]-1])
		text = text[at[1]-1:]
	}
}
