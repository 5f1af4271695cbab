package postgres

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// translated caches statements in PostgreSQL's dialect.
var translated sync.Map

var indexedBy = regexp.MustCompile(` INDEXED BY \w+`)

// translate converts the parameters ? and ?1 of a shared statement to $1, and removes hints for
// SQLite's planner. No statement may have a question mark in a text literal.
func translate(query string) string {
	if known, ok := translated.Load(query); ok {
		return known.(string)
	}
	made := numbered(indexedBy.ReplaceAllString(query, ""))
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
			continue // the number follows
		}
		n++
		b.WriteString(strconv.Itoa(n))
	}
	return b.String()
}
