package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/google/uuid"
)

const acceptGzip = "Accept-Encoding"

// plain decompresses a reply, which must be compressed.
func (r reply) plain() []byte {
	r.t.Helper()
	if r.header.Get("Content-Encoding") != "gzip" {
		r.t.Fatalf("the answer of %d bytes is not compressed", len(r.body))
	}
	z, err := gzip.NewReader(bytes.NewReader(r.body))
	if err != nil {
		r.t.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		r.t.Fatal(err)
	}
	return raw
}

func varies(r reply) bool {
	return strings.Contains(strings.Join(r.header.Values("Vary"), ","), "Accept-Encoding")
}

// chatter creates a run with a long conversation.
func chatter(h *house) uuid.UUID {
	x := h.start("")
	r := h.claim()
	for range 5 {
		r.say(userText("hi " + strings.Repeat("so much text ", 200)))
		r.say(assistantText(strings.Repeat("and some more ", 200)))
	}
	r.task("bash", "one")
	r.complete()
	return x.ID
}

// Lists, pages and snapshots are compressed for clients that accept it, and contain the same JSON.
func TestJSONIsCompressedForWhoAcceptsIt(t *testing.T) {
	h := open(t)
	id := chatter(h)
	for _, path := range []string{
		h.path(id, "/entries"), h.path(id, "/events"), h.path(id, "/snapshot"), h.path(id, "/tasks?steps=true"), "/agent-executions",
		"./v1/stream/executions/" + id.String(), "./openapi.json", "./docs",
	} {
		whole := h.call("GET", path, "", acceptGzip, "identity").want(200, nil)
		if whole.header.Get("Content-Encoding") != "" || !varies(whole) {
			t.Errorf("%s, not asked for in gzip: %v", path, whole.header)
		}
		if len(whole.body) < 1024 {
			continue
		}
		for _, accept := range []string{"gzip", "br, gzip;q=0.5", "*"} {
			small := h.call("GET", path, "", acceptGzip, accept).want(200, nil)
			if got := small.plain(); !bytes.Equal(got, whole.body) {
				t.Errorf("%s for %q unpacks to %d bytes, want %d", path, accept, len(got), len(whole.body))
			}
			if !varies(small) || small.header.Get("Content-Length") != "" && len(small.body) >= len(whole.body) {
				t.Errorf("%s for %q: %v", path, accept, small.header)
			}
		}
		for _, accept := range []string{"gzip;q=0", "br", "*;q=0"} {
			if r := h.call("GET", path, "", acceptGzip, accept); !bytes.Equal(r.body, whole.body) {
				t.Errorf("%s is compressed for %q", path, accept)
			}
		}
	}
}

// Small responses, errors, and responses with a length are not compressed.
func TestWhatIsNotWorthItIsNotCompressed(t *testing.T) {
	h := open(t)
	id := chatter(h)
	for _, path := range []string{h.path(id, ""), h.path(uuid.New(), ""), "./healthz"} {
		if r := h.call("GET", path, "", acceptGzip, "gzip"); r.header.Get("Content-Encoding") != "" {
			t.Errorf("%s with %d bytes is compressed", path, len(r.body))
		}
	}
}

// Responses with a secret are never compressed, because their length would reveal information.
func TestAnswersAboutKeysAreNeverCompressed(t *testing.T) {
	h := open(t)
	for range 30 {
		h.key("client")
	}
	admin := "Bearer " + h.admin
	for _, r := range []reply{
		h.call("GET", "/keys", "", acceptGzip, "gzip", "Authorization", admin).want(200, nil),
		h.call("POST", "/keys", `{"name":"`+strings.Repeat("n", 190)+`","role":"client"}`, acceptGzip, "gzip", "Authorization", admin).want(201, nil),
		h.call("POST", "./api/login", `{"key":"`+h.client+`"}`, acceptGzip, "gzip", "Origin", h.url).want(200, nil),
	} {
		if r.header.Get("Content-Encoding") != "" {
			t.Errorf("compressed: %v", r.header)
		}
	}
}

// A compressed response has its own ETag, which can also be used for revalidation.
func TestCompressedAnswersHaveTheirOwnTags(t *testing.T) {
	h := open(t)
	path := "./v1/stream/executions/" + chatter(h).String()
	whole := h.call("GET", path, "", acceptGzip, "identity").want(200, nil).header.Get("ETag")
	small := h.call("GET", path, "", acceptGzip, "gzip").want(200, nil).header.Get("ETag")
	if whole == "" || small == "" || whole == small {
		t.Fatalf("the tags are %s and %s", whole, small)
	}
	for _, c := range []struct{ tag, accept string }{{whole, "identity"}, {small, "gzip"}} {
		again := h.call("GET", path, "", acceptGzip, c.accept, "If-None-Match", c.tag).want(304, nil)
		if got := again.header.Get("ETag"); got != c.tag {
			t.Errorf("304 for %s has the tag %s", c.tag, got)
		}
	}
}

// A client that accepts gzip receives each event at once, before the next one is written.
func TestEventsAreNotHeldBackForCompression(t *testing.T) {
	h := open(t)
	x := h.start("")
	s := h.follow(h.path(x.ID, "/stream"), acceptGzip, "gzip")
	if s.res.Header.Get("Content-Encoding") != "" {
		t.Errorf("a stream is compressed: %v", s.res.Header)
	}
	s.must()
	r := h.claim()
	s.must()
	for i := range 20 {
		r.stream(0, int64(i), "token", "x")
		if e := s.must(); e.fields["offset"] != float64(i) {
			t.Fatalf("chunk %d came as %s", i, e.data)
		}
	}
}
