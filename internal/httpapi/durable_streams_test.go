package httpapi_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/eventlog"
	"github.com/perdure/perdure/internal/httpapi"
)

// A client's streams belong to its org: other orgs have their own at the same path. Workers' keys,
// and requests without a key, cannot use streams.
func TestStreamsAreOfTheOrg(t *testing.T) {
	h := open(t)
	_, other, err := h.engine.CreateKey(t.Context(), "other", "theirs", "client")
	if err != nil {
		t.Fatal(err)
	}
	theirs := []string{"Authorization", "Bearer " + other, "Content-Type", "text/plain"}
	h.call("PUT", "./v1/stream/a/b", "ours", "Content-Type", "text/plain").want(201, nil)
	h.call("GET", "./v1/stream/a/b", "", theirs...).problem(404, "not_found", "")
	h.call("DELETE", "./v1/stream/a/b", "", theirs...).problem(404, "not_found", "")
	made := h.call("PUT", "./v1/stream/a/b", "theirs", theirs...).want(201, nil)
	if got := made.header.Get("Location"); got != h.url+"/v1/stream/a/b" {
		t.Errorf("it is at %s", got)
	}
	h.call("POST", "./v1/stream/a/b", ", too", theirs...).want(204, nil)
	if got := h.call("GET", "./v1/stream/a/b", "").want(200, nil); string(got.body) != "ours" || got.header.Get("Content-Type") != "text/plain" {
		t.Errorf("ours is %s %v", got.body, got.header)
	}
	if got := h.call("GET", "./v1/stream/a/b", "", theirs...).want(200, nil); string(got.body) != "theirs, too" {
		t.Errorf("theirs is %s", got.body)
	}
	for _, method := range []string{"GET", "PUT", "POST", "DELETE"} {
		h.call(method, "./v1/stream/a/b", "x", "Authorization", "").problem(401, "unauthenticated", "")
		h.call(method, "./v1/stream/a/b", "x", "Authorization", "Bearer "+h.wkey).problem(403, "permission_denied", "")
	}
	h.call("DELETE", "./v1/stream/a/b", "", "Authorization", "Bearer "+h.admin).want(204, nil)
	h.call("GET", "./v1/stream/a/b", "", theirs...).want(200, nil)
}

// Refusals with a status and headers of the protocol are problems, too.
func TestStreamRefusalsAreProblems(t *testing.T) {
	h := open(t)
	text := []string{"Content-Type", "text/plain"}
	h.call("PUT", "./v1/stream/s", "", append(text, "Stream-Closed", "true")...).want(201, nil)
	closed := h.call("POST", "./v1/stream/s", "x", text...)
	if closed.problem(409, "conflict", ""); closed.header.Get("Stream-Closed") != "true" || closed.header.Get("Stream-Next-Offset") == "" {
		t.Errorf("it says %v", closed.header)
	}
	h.call("PUT", "./v1/stream/t", "", append(text, "Stream-TTL", "60")...).problem(501, "invalid_argument", "")
	h.call("PUT", "./v1/stream/__ds/subscriptions/x", "{}").problem(501, "invalid_argument", "")
	h.call("GET", "./v1/stream/s?offset=x", "").problem(400, "invalid_argument", "offset")
	h.call("PUT", "./v1/stream/", "", text...).problem(404, "not_found", "")
	h.call("PUT", "./v1/stream/t/content", strings.Repeat("x", httpapi.BodyLimit+1), text...).problem(413, "payload_too_large", "")
	patch := h.call("PATCH", "./v1/stream/s", "x", text...)
	if patch.problem(405, "invalid_argument", ""); patch.header.Get("Allow") != "GET, HEAD, PUT, POST, DELETE" {
		t.Errorf("allowed is %q", patch.header.Get("Allow"))
	}
}

// The logs of executions cannot be written, and neither can other paths below theirs.
func TestLogsAreReadOnlyStreams(t *testing.T) {
	h := open(t)
	x := h.start("")
	before := h.call("GET", durable(x.ID, ""), "").want(200, nil)
	for _, path := range []string{durable(x.ID, ""), "./v1/stream/executions", "./v1/stream/executions/new", "./v1/stream/executions/a/b"} {
		for _, method := range []string{"PUT", "POST", "DELETE"} {
			got := h.call(method, path, "[]", "Stream-Closed", "true")
			if got.problem(405, "invalid_argument", ""); got.header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s allows %q", method, path, got.header.Get("Allow"))
			}
		}
	}
	h.call("GET", "./v1/stream/executions/new", "").problem(404, "not_found", "")
	if after := h.call("GET", durable(x.ID, ""), "").want(200, nil); string(after.body) != string(before.body) {
		t.Errorf("the log was\n%s\nand is\n%s", before.body, after.body)
	}
}

// restored returns the house after a restore of its store, with another epoch.
func (h *house) restored() *house {
	h.t.Helper()
	handler, err := httpapi.New(httpapi.Config{Engine: h.engine, Log: eventlog.New(h.engine.Read(), h.store.Epoch()+1, h.engine.Hints)})
	if err != nil {
		h.t.Fatal(err)
	}
	srv := httptest.NewServer(handler)
	h.t.Cleanup(srv.Close)
	other := *h
	other.url = srv.URL
	return &other
}

// An offset of a log from before a restore is detected by the cursor that live readers send back,
// and if it is past the end of the log. Cached responses are not confirmed.
func TestOffsetOfALogFromBeforeARestore(t *testing.T) {
	h := open(t)
	r := play(h)
	all := h.call("GET", durable(r.id, ""), "").want(200, nil)
	after := h.restored()
	next, cursor := "?offset="+all.header.Get("Stream-Next-Offset"), "&cursor="+all.header.Get("Stream-Cursor")
	h.call("GET", durable(r.id, next+"&live=long-poll"+cursor), "").want(204, nil)
	for _, live := range []string{"&live=long-poll", "&live=sse"} {
		gone := after.call("GET", durable(r.id, next+live+cursor), "")
		if p := gone.problem(410, "not_found", ""); !strings.Contains(p.Detail, "offset=-1") {
			t.Errorf("it says %q", p.Detail)
		}
	}
	fresh := after.call("GET", durable(r.id, ""), "", "If-None-Match", all.header.Get("ETag")).want(200, nil)
	after.call("GET", durable(r.id, next+"&live=long-poll&cursor="+fresh.header.Get("Stream-Cursor")), "").want(204, nil)
	h.call("GET", durable(r.id, "?offset=00000000000000009999"), "").problem(410, "not_found", "")
	h.call("GET", durable(r.id, "?offset=9223372036854775808"), "").problem(400, "invalid_argument", "offset")
}

// Revoking a key ends its readers, also while they wait.
func TestRevokedKeyEndsDurableReaders(t *testing.T) {
	h := open(t, func(c *httpapi.Config) { c.RecheckEvery = time.Nanosecond })
	x := h.start("")
	key, secret, err := h.engine.CreateKey(t.Context(), "default", "brief", "client")
	if err != nil {
		t.Fatal(err)
	}
	h.call("PUT", "./v1/stream/s", "", "Content-Type", "text/plain").want(201, nil)
	polled := make(chan reply, 2)
	for _, path := range []string{durable(x.ID, ""), "./v1/stream/s"} {
		at := h.call("HEAD", path, "").want(200, nil).header.Get("Stream-Next-Offset")
		go func() {
			polled <- h.call("GET", path+"?live=long-poll&offset="+at, "", "Authorization", "Bearer "+secret)
		}()
	}
	h.call("DELETE", "/keys/"+key.ID.String(), "", "Authorization", "Bearer "+h.admin).want(200, nil)
	for range 2 {
		(<-polled).problem(401, "unauthenticated", "")
	}
}

// Readers of streams are disconnected when the server stops, so that they continue elsewhere.
func TestStopEndsDurableReaders(t *testing.T) {
	h := open(t)
	at := h.call("PUT", "./v1/stream/s", "", "Content-Type", "text/plain").want(201, nil).header.Get("Stream-Next-Offset")
	res, err := http.DefaultTransport.RoundTrip(h.request("GET", "./v1/stream/s?live=sse&offset="+at, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	close(h.stop)
	h.call("GET", "./v1/stream/s?live=long-poll&offset="+at, "").want(204, nil)
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Errorf("the event stream ends with %v", err)
	}
}

// Pages of configured origins may use streams and read the responses.
func TestPagesOfOtherOriginsUseStreams(t *testing.T) {
	const app = "https://app.example.com"
	h := open(t, func(c *httpapi.Config) { c.Origins = []string{app} })
	ask := h.call("OPTIONS", "./v1/stream/s", "", "Authorization", "", "Origin", app, "Access-Control-Request-Method", "PUT")
	ask.want(204, nil)
	for _, name := range []string{"Stream-Closed", "Stream-Seq", "Producer-Id", "Producer-Epoch", "Producer-Seq", "If-None-Match"} {
		if !strings.Contains(ask.header.Get("Access-Control-Allow-Headers"), name) {
			t.Errorf("the header %s is not allowed", name)
		}
	}
	got := h.call("PUT", "./v1/stream/s", "", "Origin", app, "Content-Type", "text/plain").want(201, nil)
	for _, name := range []string{"Stream-Next-Offset", "Stream-Up-To-Date", "Stream-Closed", "Stream-Cursor", "Producer-Expected-Seq"} {
		if !strings.Contains(got.header.Get("Access-Control-Expose-Headers"), name) {
			t.Errorf("the header %s cannot be read", name)
		}
	}
}
