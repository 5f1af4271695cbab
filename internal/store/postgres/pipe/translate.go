package pipe

import (
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// translated caches the results of Translate by the text of the statement.
var translated sync.Map

// Translate converts a statement from SQLite's dialect to PostgreSQL's. It replaces the parameters ?
// and ?1 by $1 and removes hints for SQLite's planner. No statement may have a question mark in a
// text literal.
func Translate(query string) string {
	if known, ok := translated.Load(query); ok {
		return known.(string)
	}
	made := numbered(withoutHints(query))
	translated.Store(query, made)
	return made
}

func numbered(query string) string {
	var b strings.Builder
	n := 0
	for i := 0; i < len(query); i++ {
		if query[i] != '?' {
			b.WriteByte(query[i])
			continue
		}
		b.WriteByte('$')
		if i+1 < len(query) && query[i+1] >= '0' && query[i+1] <= '9' {
			continue // the parameter already has a number
		}
		n++
		b.WriteString(strconv.Itoa(n))
	}
	return b.String()
}

// withoutHints returns the statement without " INDEXED BY " and the name of the index after it.
func withoutHints(query string) string {
	const hint = " INDEXED BY "
	before, after, found := strings.Cut(query, hint)
	if !found {
		return query
	}
	end := strings.IndexFunc(after, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if end < 0 {
		return before
	}
	return before + withoutHints(after[end:])
}
