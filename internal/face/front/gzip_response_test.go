package front_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/uuid"
)

const acceptGzip = "Accept-Encoding"

func varies(r reply) bool {
	return strings.Contains(strings.Join(r.Header.Values("Vary"), ","), "Accept-Encoding")
}

// chatter creates a run with a long conversation.
func chatter(h *testServer) uuid.UUID {
	x := h.Start("")
	r := h.Claim()
	for range 5 {
		r.Say(userText("hi " + strings.Repeat("so much text ", 200)))
		r.Say(assistantText(strings.Repeat("and some more ", 200)))
	}
	r.Task("bash", "one")
	r.Complete()
	return x.ID
}

// TestJSONIsCompressedForWhoAcceptsIt checks that JSON responses and web pages of at least 1 KiB
// are compressed for clients that accept gzip. They decompress to the uncompressed response.
func TestJSONIsCompressedForWhoAcceptsIt(t *testing.T) {
	h := open(t)
	id := chatter(h)
	for _, path := range []string{
		h.Path(id, "/entries"), h.Path(id, "/events"), h.Path(id, "/snapshot"), h.Path(id, "/tasks?steps=true"), "/agent-executions",
		"./v1/stream/executions/" + id.String(), "./openapi.json", "./docs",
	} {
		whole := h.Call("GET", path, "", acceptGzip, "identity").Want(200, nil)
		if whole.Header.Get("Content-Encoding") != "" || !varies(whole) {
			t.Errorf("%s, not asked for in gzip: %v", path, whole.Header)
		}
		if len(whole.Body) < 1024 {
			continue
		}
		for _, accept := range []string{"gzip", "br, gzip;q=0.5", "*"} {
			small := h.Call("GET", path, "", acceptGzip, accept).Want(200, nil)
			if got := small.Plain(); !bytes.Equal(got, whole.Body) {
				t.Errorf("%s for %q unpacks to %d bytes, want %d", path, accept, len(got), len(whole.Body))
			}
			if !varies(small) || small.Header.Get("Content-Length") != "" && len(small.Body) >= len(whole.Body) {
				t.Errorf("%s for %q: %v", path, accept, small.Header)
			}
		}
		for _, accept := range []string{"gzip;q=0", "br", "*;q=0"} {
			if r := h.Call("GET", path, "", acceptGzip, accept); !bytes.Equal(r.Body, whole.Body) {
				t.Errorf("%s is compressed for %q", path, accept)
			}
		}
	}
}

// TestSmallResponsesAreNotCompressed checks that the response about one execution, a 404 and the
// response of /healthz are not compressed.
func TestSmallResponsesAreNotCompressed(t *testing.T) {
	h := open(t)
	id := chatter(h)
	for _, path := range []string{h.Path(id, ""), h.Path(uuid.New(), ""), "./healthz"} {
		if r := h.Call("GET", path, "", acceptGzip, "gzip"); r.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s with %d bytes is compressed", path, len(r.Body))
		}
	}
}

// TestAnswersAboutKeysAreNeverCompressed checks that responses about keys and sign-in are not
// compressed, because their compressed length could reveal a secret.
func TestAnswersAboutKeysAreNeverCompressed(t *testing.T) {
	h := open(t)
	for range 30 {
		h.Key("client")
	}
	admin := "Bearer " + h.AdminKey
	for _, r := range []reply{
		h.Call("GET", "/keys", "", acceptGzip, "gzip", "Authorization", admin).Want(200, nil),
		h.Call("POST", "/keys", `{"name":"`+strings.Repeat("n", 190)+`","role":"client"}`, acceptGzip, "gzip", "Authorization", admin).Want(201, nil),
		h.Call("POST", "./api/login", `{"key":"`+h.ClientKey+`"}`, acceptGzip, "gzip", "Origin", h.URL).Want(200, nil),
	} {
		if r.Header.Get("Content-Encoding") != "" {
			t.Errorf("compressed: %v", r.Header)
		}
	}
}

// TestCompressedAnswersHaveTheirOwnTags checks that a compressed response has another ETag than the
// uncompressed one. A request that is repeated with the ETag of its first response gets 304.
func TestCompressedAnswersHaveTheirOwnTags(t *testing.T) {
	h := open(t)
	path := "./v1/stream/executions/" + chatter(h).String()
	whole := h.Call("GET", path, "", acceptGzip, "identity").Want(200, nil).Header.Get("ETag")
	small := h.Call("GET", path, "", acceptGzip, "gzip").Want(200, nil).Header.Get("ETag")
	if whole == "" || small == "" || whole == small {
		t.Fatalf("the tags are %s and %s", whole, small)
	}
	for _, c := range []struct{ tag, accept string }{{whole, "identity"}, {small, "gzip"}} {
		again := h.Call("GET", path, "", acceptGzip, c.accept, "If-None-Match", c.tag).Want(304, nil)
		if got := again.Header.Get("ETag"); got != c.tag {
			t.Errorf("304 for %s has the tag %s", c.tag, got)
		}
	}
}

// TestEventsAreNotHeldBackForCompression checks that a client that accepts gzip receives each event
// at once, before the next one is written.
func TestEventsAreNotHeldBackForCompression(t *testing.T) {
	h := open(t)
	x := h.Start("")
	s := h.Follow(h.Path(x.ID, "/stream"), acceptGzip, "gzip")
	if s.Response.Header.Get("Content-Encoding") != "" {
		t.Errorf("a stream is compressed: %v", s.Response.Header)
	}
	s.Must()
	r := h.Claim()
	s.Must()
	for i := range 20 {
		r.Stream(0, int64(i), "token", "x")
		if e := s.Must(); e.Fields["offset"] != float64(i) {
			t.Fatalf("chunk %d came as %s", i, e.Data)
		}
	}
}
