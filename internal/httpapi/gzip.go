package httpapi

import (
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// compressFrom is the least that is worth compressing, in bytes.
const compressFrom = 1 << 10

// zipSuffix ends the ETag of an answer that is compressed: it has other bytes
// than the one that is not.
const zipSuffix = `-gzip"`

var zippers = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is one that there is
	return z
}}

// compressible reports which answers are compressed for who asks for it: what is
// read of executions and definitions, the documents and the pages. Never what is about
// keys: nothing secret shares a compressed answer with what somebody else chose.
func compressible(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	path := r.URL.Path
	if rest, ok := strings.CutPrefix(path, "/api/orgs/"); ok {
		_, path, _ = strings.Cut(rest, "/")
		return strings.HasPrefix(path, "agent-executions") || strings.HasPrefix(path, "agent-definitions")
	}
	return strings.HasPrefix(path, durablePath) || path == "/openapi.json" || path == "/docs" ||
		strings.HasPrefix(path, pagesPath) || strings.HasPrefix(path, assetsPath)
}

// takesGzip reports whether the client accepts gzip.
func takesGzip(r *http.Request) bool {
	any := false
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, weight, _ := strings.Cut(part, ";")
		_, value, _ := strings.Cut(weight, "q=")
		q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		wanted := err != nil || q > 0
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "gzip", "x-gzip":
			return wanted
		case "*":
			any = wanted
		}
	}
	return any
}

// zipped compresses an answer if that is JSON or a page, large enough, and
// neither compressed nor measured already. A stream of events never is: see
// docs/decisions/013-streams-are-not-compressed.md.
type zipped struct {
	http.ResponseWriter
	gzip   bool // the client takes it
	tagged bool // the request names compressed answers by their tags
	status int
	begun  bool
	to     *gzip.Writer // nil passes on
}

// compress returns the writer for the answer, and the request as the operations
// know it. The caller closes the writer if the answer is whole.
func compress(w http.ResponseWriter, r *http.Request) *zipped {
	z := &zipped{ResponseWriter: w, gzip: takesGzip(r)}
	for _, name := range []string{"If-None-Match", "If-Match"} {
		if tag := r.Header.Get(name); strings.Contains(tag, zipSuffix) {
			r.Header.Set(name, strings.ReplaceAll(tag, zipSuffix, `"`))
			z.tagged = true
		}
	}
	return z
}

// WriteHeader waits for the first bytes, which report whether it is worth it.
func (z *zipped) WriteHeader(status int) {
	if z.status != 0 {
		return
	}
	z.status = status
	h := z.Header()
	if status == http.StatusNotModified && z.tagged {
		tag(h)
	}
	if z.mayZip() {
		h.Add("Vary", "Accept-Encoding")
		if z.gzip {
			return
		}
	}
	z.begin()
}

func (z *zipped) mayZip() bool {
	h := z.Header()
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return z.status == http.StatusOK && h.Get("Content-Encoding") == "" && h.Get("Content-Length") == "" &&
		(kind == "application/json" || kind == "text/html" || kind == "text/javascript" || kind == "text/css")
}

func (z *zipped) begin() {
	z.begun = true
	z.ResponseWriter.WriteHeader(z.status)
}

func (z *zipped) Write(b []byte) (int, error) {
	if z.status == 0 {
		z.WriteHeader(http.StatusOK)
	}
	if !z.begun {
		if len(b) >= compressFrom {
			z.start()
		}
		z.begin()
	}
	if z.to != nil {
		return z.to.Write(b)
	}
	return z.ResponseWriter.Write(b)
}

func (z *zipped) start() {
	h := z.Header()
	h.Set("Content-Encoding", "gzip")
	tag(h)
	z.to = zippers.Get().(*gzip.Writer)
	z.to.Reset(z.ResponseWriter)
}

// tag tells the compressed answer from the other.
func tag(h http.Header) {
	if t := h.Get("ETag"); strings.HasSuffix(t, `"`) {
		h.Set("ETag", strings.TrimSuffix(t, `"`)+zipSuffix)
	}
}

// close ends the answer.
func (z *zipped) close() {
	if z.status != 0 && !z.begun {
		z.begin()
	}
	if z.to != nil {
		_ = z.to.Close() // the client has gone
		zippers.Put(z.to)
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (z *zipped) Unwrap() http.ResponseWriter { return z.ResponseWriter }
