package front

import (
	"net/http"
	"slices"
	"strings"
)

// Mux is an [http.ServeMux] that knows its routes. It is the only mux of the face: the front has
// one, and so has each [Tree]. The zero value is ready.
type Mux struct {
	mux      http.ServeMux
	patterns []string
}

// HandleFunc registers the handler of a pattern. It panics if the pattern is invalid or conflicts
// with another.
func (m *Mux) HandleFunc(pattern string, h http.HandlerFunc) {
	m.mux.HandleFunc(pattern, h)
	m.patterns = append(m.patterns, pattern)
}

// Patterns returns the patterns of all routes.
func (m *Mux) Patterns() []string { return slices.Clone(m.patterns) }

// Handler returns the handler of a request and the pattern that it matches; "" if none does.
func (m *Mux) Handler(r *http.Request) (http.Handler, string) { return m.mux.Handler(r) }

// Route returns the path of the pattern that a request matches; "" if none does.
func (m *Mux) Route(r *http.Request) string {
	_, pattern := m.mux.Handler(r)
	if _, path, found := strings.Cut(pattern, " "); found {
		return path
	}
	return pattern
}

// ServeHTTP implements [http.Handler].
func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.mux.ServeHTTP(w, r) }
