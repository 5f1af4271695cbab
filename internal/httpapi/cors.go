package httpapi

import (
	"net/http"
	"slices"
	"strings"
)

const (
	corsMethods = "GET, HEAD, POST, PUT, DELETE"
	// corsHeaders are those that requests of the API carry.
	corsHeaders = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID," +
		" Stream-Seq, Stream-Closed, Producer-Id, Producer-Epoch, Producer-Seq"
	// corsExposed are those of answers that a page may read beside the usual.
	corsExposed = "Location, Retry-After, ETag," +
		" Stream-Next-Offset, Stream-Up-To-Date, Stream-Closed, Stream-Cursor, Stream-SSE-Data-Encoding," +
		" Producer-Epoch, Producer-Seq, Producer-Expected-Seq, Producer-Received-Seq"
)

// cors lets pages of the configured origins read the answers, and answers their
// browsers' questions whether a request may be sent: it reports whether that is
// what the request was. Such pages give the key as a bearer; the cookie is for
// our own.
func (s *server) cors(w http.ResponseWriter, r *http.Request) (answered bool) {
	if len(s.Origins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" || !slices.Contains(s.Origins, origin) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", corsExposed)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" || !forPages(r.URL.Path) {
		return false
	}
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", corsHeaders)
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// forPages reports whether pages of other origins may use what is at the path.
func forPages(path string) bool {
	return strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, durablePath)
}
