package front

import (
	"net/http"
	"slices"
	"strings"
)

// Mux is an [http.ServeMux] that can list its routes. Every mux of the HTTP API has this type: the
// front has one, and so has each [Tree]. The zero value is ready to use.
type Mux struct {
	mux http.ServeMux
	// actions has the routes below actionsPath, which take precedence over those in the field
	// `mux`. One [http.ServeMux] cannot have both: these routes conflict with those of a single
	// execution.
	actions  http.ServeMux
	patterns []string
}

// actionsPath is a path with the word "actions" at the place where other paths have an execution's
// id.
const actionsPath = "/agent-executions/actions/"

// HandleFunc registers the handler of a pattern. It panics if the pattern is invalid or conflicts
// with another pattern.
func (m *Mux) HandleFunc(pattern string, h http.HandlerFunc) {
	if strings.Contains(pattern, " "+OrgPath+actionsPath) {
		m.actions.HandleFunc(pattern, h)
	} else {
		m.mux.HandleFunc(pattern, h)
	}
	m.patterns = append(m.patterns, pattern)
}

// Patterns returns the patterns of all routes.
func (m *Mux) Patterns() []string { return slices.Clone(m.patterns) }

// Handler returns the handler of a request and the pattern that the request matches. The pattern is
// "" if the request matches none.
func (m *Mux) Handler(r *http.Request) (http.Handler, string) { return m.of(r).Handler(r) }

// of returns the mux that serves a request: the field `actions` for paths below actionsPath, and
// otherwise the field `mux`.
func (m *Mux) of(r *http.Request) *http.ServeMux {
	path, below := strings.CutPrefix(r.URL.Path, OrgsPath+"/")
	if _, path, _ = strings.Cut(path, "/"); below && strings.HasPrefix("/"+path, actionsPath) {
		return &m.actions
	}
	return &m.mux
}

// Route returns the pattern that a request matches, without the method; "" if the request matches
// none.
func (m *Mux) Route(r *http.Request) string {
	_, pattern := m.Handler(r)
	if _, path, found := strings.Cut(pattern, " "); found {
		return path
	}
	return pattern
}

// ServeHTTP implements [http.Handler].
func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.of(r).ServeHTTP(w, r) }
