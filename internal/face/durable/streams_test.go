package durable_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/face"
	"github.com/perdure/perdure/internal/face/front"
	eventlog "github.com/perdure/perdure/internal/log"
)

// TestStreamsAreOfTheOrg checks that two orgs can use the same path for different streams. Requests
// with the key of a worker, or without a key, cannot use streams.
func TestStreamsAreOfTheOrg(t *testing.T) {
	h := open(t)
	_, other, err := h.Engine.CreateKey(t.Context(), "other", "theirs", "client")
	if err != nil {
		t.Fatal(err)
	}
	theirs := []string{"Authorization", "Bearer " + other, "Content-Type", "text/plain"}
	h.Call("PUT", "./v1/stream/a/b", "ours", "Content-Type", "text/plain").Want(201, nil)
	h.Call("GET", "./v1/stream/a/b", "", theirs...).Problem(404, "not_found", "")
	h.Call("DELETE", "./v1/stream/a/b", "", theirs...).Problem(404, "not_found", "")
	made := h.Call("PUT", "./v1/stream/a/b", "theirs", theirs...).Want(201, nil)
	if got := made.Header.Get("Location"); got != h.URL+"/v1/stream/a/b" {
		t.Errorf("it is at %s", got)
	}
	h.Call("POST", "./v1/stream/a/b", ", too", theirs...).Want(204, nil)
	if got := h.Call("GET", "./v1/stream/a/b", "").Want(200, nil); string(got.Body) != "ours" || got.Header.Get("Content-Type") != "text/plain" {
		t.Errorf("ours is %s %v", got.Body, got.Header)
	}
	if got := h.Call("GET", "./v1/stream/a/b", "", theirs...).Want(200, nil); string(got.Body) != "theirs, too" {
		t.Errorf("theirs is %s", got.Body)
	}
	for _, method := range []string{"GET", "PUT", "POST", "DELETE"} {
		h.Call(method, "./v1/stream/a/b", "x", "Authorization", "").Problem(401, "unauthenticated", "")
		h.Call(method, "./v1/stream/a/b", "x", "Authorization", "Bearer "+h.WorkerKey).Problem(403, "permission_denied", "")
	}
	h.Call("DELETE", "./v1/stream/a/b", "", "Authorization", "Bearer "+h.AdminKey).Want(204, nil)
	h.Call("GET", "./v1/stream/a/b", "", theirs...).Want(200, nil)
}

// TestStreamRefusalsAreProblems checks that errors of the Durable Streams protocol have the error
// body of this API, in addition to the headers of the protocol.
func TestStreamRefusalsAreProblems(t *testing.T) {
	h := open(t)
	text := []string{"Content-Type", "text/plain"}
	h.Call("PUT", "./v1/stream/s", "", append(text, "Stream-Closed", "true")...).Want(201, nil)
	closed := h.Call("POST", "./v1/stream/s", "x", text...)
	if closed.Problem(409, "conflict", ""); closed.Header.Get("Stream-Closed") != "true" || closed.Header.Get("Stream-Next-Offset") == "" {
		t.Errorf("it says %v", closed.Header)
	}
	h.Call("PUT", "./v1/stream/t", "", append(text, "Stream-TTL", "60")...).Problem(501, "invalid_argument", "")
	h.Call("PUT", "./v1/stream/__ds/subscriptions/x", "{}").Problem(501, "invalid_argument", "")
	h.Call("GET", "./v1/stream/s?offset=x", "").Problem(400, "invalid_argument", "offset")
	h.Call("PUT", "./v1/stream/", "", text...).Problem(404, "not_found", "")
	h.Call("PUT", "./v1/stream/t/content", strings.Repeat("x", front.BodyLimit+1), text...).Problem(413, "payload_too_large", "")
	patch := h.Call("PATCH", "./v1/stream/s", "x", text...)
	if patch.Problem(405, "invalid_argument", ""); patch.Header.Get("Allow") != "GET, HEAD, PUT, POST, DELETE" {
		t.Errorf("allowed is %q", patch.Header.Get("Allow"))
	}
}

// TestLogsAreReadOnlyStreams checks that writes to the log of an execution, and to other paths
// below executions/, get 405. The log stays unchanged.
func TestLogsAreReadOnlyStreams(t *testing.T) {
	h := open(t)
	x := h.Start("")
	before := h.Call("GET", durable(x.ID, ""), "").Want(200, nil)
	for _, path := range []string{durable(x.ID, ""), "./v1/stream/executions", "./v1/stream/executions/new", "./v1/stream/executions/a/b"} {
		for _, method := range []string{"PUT", "POST", "DELETE"} {
			got := h.Call(method, path, "[]", "Stream-Closed", "true")
			if got.Problem(405, "invalid_argument", ""); got.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s allows %q", method, path, got.Header.Get("Allow"))
			}
		}
	}
	h.Call("GET", "./v1/stream/executions/new", "").Problem(404, "not_found", "")
	if after := h.Call("GET", durable(x.ID, ""), "").Want(200, nil); string(after.Body) != string(before.Body) {
		t.Errorf("the log was\n%s\nand is\n%s", before.Body, after.Body)
	}
}

// restored starts another server over the same store. The logs that it serves have another epoch,
// as after a restore of the store.
func (h *testServer) restored() *testServer {
	h.T.Helper()
	handler, err := face.New(face.Config{Config: front.Config{Engine: h.Engine}, Log: eventlog.New(h.Engine.Read(), h.Store.Epoch()+1, h.Engine.Hints)})
	if err != nil {
		h.T.Fatal(err)
	}
	srv := httptest.NewServer(handler)
	h.T.Cleanup(srv.Close)
	other := *h.Server
	other.URL = srv.URL
	return &testServer{&other}
}

// TestOffsetOfALogFromBeforeARestore checks requests with values from before a restore. An offset
// with a Stream-Cursor from before the restore, and an offset past the end of the log, get 410. A
// request with an ETag from before the restore does not get 304.
func TestOffsetOfALogFromBeforeARestore(t *testing.T) {
	h := open(t)
	r := play(h)
	all := h.Call("GET", durable(r.ID, ""), "").Want(200, nil)
	after := h.restored()
	next, cursor := "?offset="+all.Header.Get("Stream-Next-Offset"), "&cursor="+all.Header.Get("Stream-Cursor")
	h.Call("GET", durable(r.ID, next+"&live=long-poll"+cursor), "").Want(204, nil)
	for _, live := range []string{"&live=long-poll", "&live=sse"} {
		gone := after.Call("GET", durable(r.ID, next+live+cursor), "")
		if p := gone.Problem(410, "not_found", ""); !strings.Contains(p.Detail, "offset=-1") {
			t.Errorf("it says %q", p.Detail)
		}
	}
	fresh := after.Call("GET", durable(r.ID, ""), "", "If-None-Match", all.Header.Get("ETag")).Want(200, nil)
	after.Call("GET", durable(r.ID, next+"&live=long-poll&cursor="+fresh.Header.Get("Stream-Cursor")), "").Want(204, nil)
	h.Call("GET", durable(r.ID, "?offset=00000000000000009999"), "").Problem(410, "not_found", "")
	h.Call("GET", durable(r.ID, "?offset=9223372036854775808"), "").Problem(400, "invalid_argument", "offset")
}

// TestRevokedKeyEndsDurableReaders checks that long polls of a revoked key end with 401.
func TestRevokedKeyEndsDurableReaders(t *testing.T) {
	h := open(t, func(c *face.Config) { c.RecheckEvery = time.Nanosecond })
	x := h.Start("")
	key, secret, err := h.Engine.CreateKey(t.Context(), "default", "brief", "client")
	if err != nil {
		t.Fatal(err)
	}
	h.Call("PUT", "./v1/stream/s", "", "Content-Type", "text/plain").Want(201, nil)
	polled := make(chan reply, 2)
	for _, path := range []string{durable(x.ID, ""), "./v1/stream/s"} {
		at := h.Call("HEAD", path, "").Want(200, nil).Header.Get("Stream-Next-Offset")
		go func() {
			polled <- h.Call("GET", path+"?live=long-poll&offset="+at, "", "Authorization", "Bearer "+secret)
		}()
	}
	h.Call("DELETE", "/keys/"+key.ID.String(), "", "Authorization", "Bearer "+h.AdminKey).Want(200, nil)
	for range 2 {
		(<-polled).Problem(401, "unauthenticated", "")
	}
}

// TestStopEndsDurableReaders checks that when the server stops, an event stream of a durable stream
// ends, and a long poll gets 204.
func TestStopEndsDurableReaders(t *testing.T) {
	h := open(t)
	at := h.Call("PUT", "./v1/stream/s", "", "Content-Type", "text/plain").Want(201, nil).Header.Get("Stream-Next-Offset")
	res, err := http.DefaultTransport.RoundTrip(h.Request("GET", "./v1/stream/s?live=sse&offset="+at, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	close(h.Stop)
	h.Call("GET", "./v1/stream/s?live=long-poll&offset="+at, "").Want(204, nil)
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Errorf("the event stream ends with %v", err)
	}
}

// TestPagesOfOtherOriginsUseStreams checks that the CORS headers let pages of a configured origin
// send and read the headers of the Durable Streams protocol.
func TestPagesOfOtherOriginsUseStreams(t *testing.T) {
	const app = "https://app.example.com"
	h := open(t, func(c *face.Config) { c.Origins = []string{app} })
	ask := h.Call("OPTIONS", "./v1/stream/s", "", "Authorization", "", "Origin", app, "Access-Control-Request-Method", "PUT")
	ask.Want(204, nil)
	for _, name := range []string{"Stream-Closed", "Stream-Seq", "Producer-Id", "Producer-Epoch", "Producer-Seq", "If-None-Match"} {
		if !strings.Contains(ask.Header.Get("Access-Control-Allow-Headers"), name) {
			t.Errorf("the header %s is not allowed", name)
		}
	}
	got := h.Call("PUT", "./v1/stream/s", "", "Origin", app, "Content-Type", "text/plain").Want(201, nil)
	for _, name := range []string{"Stream-Next-Offset", "Stream-Up-To-Date", "Stream-Closed", "Stream-Cursor", "Producer-Expected-Seq"} {
		if !strings.Contains(got.Header.Get("Access-Control-Expose-Headers"), name) {
			t.Errorf("the header %s cannot be read", name)
		}
	}
}
