package durablestream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

const (
	// BodyLimit is the largest body, in bytes, of a request that creates a stream or appends to
	// one.
	BodyLimit = 8 << 20
	// nameLimit is the maximum length in bytes of a path, content type, producer id or Stream-Seq.
	// Each of them is stored with the stream.
	nameLimit = 1024
	// maxNumber is the largest integer that is exact in a 64-bit float.
	maxNumber = 1<<53 - 1
	// reserved is the first segment of paths that the protocol reserves.
	reserved = "__ds"
)

// Handle serves a request to the general stream of the org at path. If Handle returns an error, the
// caller sends the response: the error is a [*Refusal], or has a code. The context `live` has the
// same meaning as in [Serve].
func (s *Streams) Handle(live context.Context, w http.ResponseWriter, r *http.Request, org, path string, c Reading) error {
	if first, _, _ := strings.Cut(path, "/"); first == reserved {
		return NotHere("subscriptions")
	}
	if err := checkName("the path", path); err != nil || path == "" {
		return errors.Join(err, noPath(path))
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		x, err := s.store.Stream(r.Context(), org, path)
		if err != nil {
			return err
		}
		return Serve(live, w, r, &generalStream{s, x}, c)
	case http.MethodPut:
		return s.put(w, r, org, path)
	case http.MethodPost:
		return s.post(w, r, org, path)
	case http.MethodDelete:
		if _, err := s.remove(r.Context(), org, path); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return refuse(http.StatusMethodNotAllowed, perdure.InvalidArgument, "%s is not possible here", r.Method).
		with("Allow", "GET, HEAD, PUT, POST, DELETE")
}

func noPath(path string) error {
	if path == "" {
		return noStream(path)
	}
	return nil
}

// checkName refuses a name that cannot be stored and returned unchanged. The parameter `what` is the
// name of the field in the error.
func checkName(what, name string) error {
	if len(name) > nameLimit || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return perdure.FieldErrorf(what, "must be text of up to %d bytes", nameLimit)
	}
	return nil
}

func (s *Streams) put(w http.ResponseWriter, r *http.Request, org, path string) error {
	if err := refuseExtras(r); err != nil {
		return err
	}
	c := creation{org: org, path: path, id: uuid.New(), contentType: r.Header.Get("Content-Type"), closed: closes(r)}
	if c.contentType == "" {
		c.contentType = "application/octet-stream"
	}
	body, err := content(w, r)
	if err == nil {
		c.rows, err = rowsOf(c.contentType, body)
	}
	if err != nil {
		return err
	}
	o, err := s.create(r.Context(), c)
	if err != nil {
		return err
	}
	s.describe(w, o)
	w.Header().Set("Content-Type", o.stream.ContentType)
	if !o.made {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	w.Header().Set("Location", address(r))
	w.WriteHeader(http.StatusCreated)
	return nil
}

// address returns the URL of the stream: the URL of the request without its query.
func address(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host + r.URL.EscapedPath()
}

func (s *Streams) post(w http.ResponseWriter, r *http.Request, org, path string) error {
	a := addition{path: path, seq: r.Header.Get(headerWriter), closes: closes(r)}
	if err := checkName(headerWriter, a.seq); err != nil {
		return err
	}
	var err error
	if a.producer, err = producerOf(r); err != nil {
		return err
	}
	body, err := content(w, r)
	switch {
	case err != nil:
		return err
	case len(body) == 0 && !a.closes:
		return perdure.FieldErrorf("body", "is empty, and the request does not close the stream")
	case len(body) > 0:
		if a.contentType = r.Header.Get("Content-Type"); a.contentType == "" {
			return perdure.FieldErrorf("Content-Type", "is missing")
		}
		if a.rows, err = rowsOf(a.contentType, body); err != nil {
			return err
		}
		if len(a.rows) == 0 {
			return perdure.FieldErrorf("body", "is an empty array: there is nothing to append")
		}
	}
	o, err := s.append(r.Context(), org, a)
	if err != nil {
		return err
	}
	s.describe(w, o)
	status := http.StatusNoContent
	if o.producer != nil {
		w.Header().Set(headerEpoch, strconv.FormatInt(o.producer.Epoch, 10))
		w.Header().Set(headerSeq, strconv.FormatInt(o.producer.Seq, 10))
		if o.stored && len(a.rows) > 0 {
			status = http.StatusOK
		}
	}
	w.WriteHeader(status)
	return nil
}

func (s *Streams) describe(w http.ResponseWriter, o outcome) {
	w.Header().Set(headerNext, s.offset(&o.stream, o.stream.Tail))
	if o.stream.Closed {
		w.Header().Set(headerClosed, "true")
	}
}

// refuseExtras returns an error if a request that creates a stream asks for features that this server
// does not support. If the request were accepted, its client would rely on these features.
func refuseExtras(r *http.Request) error {
	ttl, expires := r.Header.Get("Stream-TTL"), r.Header.Get("Stream-Expires-At")
	switch {
	case ttl != "" && expires != "":
		return perdure.FieldErrorf("Stream-TTL", "and Stream-Expires-At exclude each other")
	case ttl != "":
		if n, err := strconv.ParseInt(ttl, 10, 64); err != nil || n < 0 || strconv.FormatInt(n, 10) != ttl {
			return perdure.FieldErrorf("Stream-TTL", "must be a whole number of seconds")
		}
		return NotHere("Stream-TTL (streams that expire)")
	case expires != "":
		if _, err := time.Parse(time.RFC3339, expires); err != nil {
			return perdure.FieldErrorf("Stream-Expires-At", "must be a time (RFC 3339)")
		}
		return NotHere("Stream-Expires-At (streams that expire)")
	}
	for _, name := range []string{"Stream-Forked-From", "Stream-Fork-Offset", "Stream-Fork-Sub-Offset"} {
		if r.Header.Get(name) != "" {
			return NotHere(name + " (forks)")
		}
	}
	return nil
}

// closes reports whether a request asks to close the stream. Header values other than true are
// ignored, as the protocol requires.
func closes(r *http.Request) bool { return strings.EqualFold(r.Header.Get(headerClosed), "true") }

// content reads the whole body of a request.
func content(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, BodyLimit))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, perdure.Errorf(perdure.PayloadTooLarge, "the body is over %d MiB", BodyLimit>>20)
	case err != nil:
		return nil, perdure.FieldErrorf("body", "broke off: %v", err)
	}
	return body, nil
}

func rowsOf(contentType string, body []byte) ([][]byte, error) {
	if err := checkName("Content-Type", contentType); err != nil {
		return nil, err
	}
	switch {
	case mediaType(contentType) == "":
		return nil, perdure.FieldErrorf("Content-Type", "%q is none", contentType)
	case isJSON(contentType) && len(body) > 0:
		return cutJSON(body)
	}
	return cut(body), nil
}

// producerOf parses the three headers that identify a producer's append. It returns nil if none of
// them is present.
func producerOf(r *http.Request) (*store.StreamProducer, error) {
	given := 0
	for _, name := range []string{headerProducer, headerEpoch, headerSeq} {
		if len(r.Header.Values(name)) > 0 {
			given++
		}
	}
	if given == 0 {
		return nil, nil
	}
	p := store.StreamProducer{ID: r.Header.Get(headerProducer)}
	if given < 3 || p.ID == "" {
		return nil, perdure.FieldErrorf(headerProducer, "must come with %s and %s, none of them empty", headerEpoch, headerSeq)
	}
	if err := checkName(headerProducer, p.ID); err != nil {
		return nil, err
	}
	for name, into := range map[string]*int64{headerEpoch: &p.Epoch, headerSeq: &p.Seq} {
		text := r.Header.Get(name)
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 || n > maxNumber || strings.HasPrefix(text, "+") {
			return nil, perdure.FieldErrorf(name, "must be a whole number from 0 to %d", int64(maxNumber))
		}
		*into = n
	}
	return &p, nil
}
