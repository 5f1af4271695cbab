package front

import (
	"net/http"
	"slices"
	"strings"
)

const (
	corsMethods = "GET, HEAD, POST, PUT, PATCH, DELETE"
	// corsHeaders are the request headers that pages of other origins may send.
	corsHeaders = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID," +
		" Stream-Seq, Stream-Closed, Producer-Id, Producer-Epoch, Producer-Seq"
	// corsExposed are the response headers that pages of other origins may read, in addition to the
	// headers that CORS always exposes.
	corsExposed = "Location, Retry-After, ETag," +
		" Stream-Next-Offset, Stream-Up-To-Date, Stream-Closed, Stream-Cursor, Stream-SSE-Data-Encoding," +
		" Producer-Epoch, Producer-Seq, Producer-Expected-Seq, Producer-Received-Seq"
)

// cors lets pages of the configured origins read responses. It answers preflight requests, and
// reports whether the request was one. These pages must send a key, because the session cookie is
// only for the server's own pages.
func (f *Front) cors(w http.ResponseWriter, r *http.Request) (answered bool) {
	if len(f.Origins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" || !slices.Contains(f.Origins, origin) {
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

// forPages reports whether pages of other origins may send requests to the path.
func forPages(path string) bool {
	return strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, StreamsPath)
}
