package front

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// compressFrom is the size in bytes of the smallest response that is compressed.
const compressFrom = 1 << 10

// zipSuffix is the end of the ETag of a compressed response. A compressed and an uncompressed
// response have different bytes, so their ETags must differ.
const zipSuffix = `-gzip"`

// zipPiece is the number of compressed bytes that are written at once. A smaller response is
// compressed completely before its first byte is written, while the request still has its place in
// the org's share of the processor.
const zipPiece = 64 << 10

var zippers = sync.Pool{New: func() any {
	out := bufio.NewWriterSize(nil, zipPiece)
	z, _ := gzip.NewWriterLevel(out, gzip.BestSpeed) // the level is valid
	return &pooledGzip{z, out}
}}

// pooledGzip is a gzip writer with a buffer for its output.
type pooledGzip struct {
	*gzip.Writer
	out *bufio.Writer
}

func (z *pooledGzip) reset(w io.Writer) {
	z.out.Reset(w)
	z.Reset(z.out)
}

func (z *pooledGzip) Close() error { return errors.Join(z.Writer.Close(), z.out.Flush()) }

// compressible reports whether the response to a request may be compressed.
func compressible(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead
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

// gzipResponseWriter compresses a response if it is JSON or a page, is large enough, and has
// neither an encoding nor a length yet. An event stream is never compressed: see
// docs/decisions/011-streams-are-not-compressed.md.
type gzipResponseWriter struct {
	http.ResponseWriter
	gzip   bool // the client accepts gzip
	tagged bool // the ETags in the request belong to compressed responses
	status int
	begun  bool
	to     *pooledGzip // nil if the response is not compressed
}

// compress returns a writer that compresses the response. In the request, it replaces ETags of
// compressed responses by those of the uncompressed responses, because the handler knows only
// these. The caller must close the writer after a complete response.
func compress(w http.ResponseWriter, r *http.Request) *gzipResponseWriter {
	z := &gzipResponseWriter{ResponseWriter: w, gzip: takesGzip(r)}
	for _, name := range []string{"If-None-Match", "If-Match"} {
		if tag := r.Header.Get(name); strings.Contains(tag, zipSuffix) {
			r.Header.Set(name, strings.ReplaceAll(tag, zipSuffix, `"`))
			z.tagged = true
		}
	}
	return z
}

// WriteHeader records the status. If the response may be compressed, Write or Close sends the
// status later: the size of the body decides whether the response is compressed.
func (z *gzipResponseWriter) WriteHeader(status int) {
	if z.status != 0 {
		return
	}
	z.status = status
	h := z.Header()
	if status == http.StatusNotModified && z.tagged {
		tag(h)
	}
	if z.mayCompress() {
		h.Add("Vary", "Accept-Encoding")
		if z.gzip {
			return
		}
	}
	z.begin()
}

func (z *gzipResponseWriter) mayCompress() bool {
	h := z.Header()
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return z.status == http.StatusOK && h.Get("Content-Encoding") == "" && h.Get("Content-Length") == "" &&
		(kind == "application/json" || kind == "text/html" || kind == "text/javascript" || kind == "text/css")
}

func (z *gzipResponseWriter) begin() {
	z.begun = true
	z.ResponseWriter.WriteHeader(z.status)
}

func (z *gzipResponseWriter) Write(b []byte) (int, error) {
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

func (z *gzipResponseWriter) start() {
	h := z.Header()
	h.Set("Content-Encoding", "gzip")
	tag(h)
	z.to = zippers.Get().(*pooledGzip)
	z.to.reset(z.ResponseWriter)
}

// tag changes the ETag of the uncompressed response to the ETag of the compressed response.
func tag(h http.Header) {
	if t := h.Get("ETag"); strings.HasSuffix(t, `"`) {
		h.Set("ETag", strings.TrimSuffix(t, `"`)+zipSuffix)
	}
}

// close completes the response.
func (z *gzipResponseWriter) close() {
	if z.status != 0 && !z.begun {
		z.begin()
	}
	if z.to != nil {
		_ = z.to.Close() // fails only if the client has disconnected
		z.to.reset(nil)
		zippers.Put(z.to)
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (z *gzipResponseWriter) Unwrap() http.ResponseWriter { return z.ResponseWriter }
