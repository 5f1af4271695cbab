package httpapi_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/perdure/perdure/internal/httpapi"
	"github.com/perdure/perdure/web"
)

func withPages(c *httpapi.Config) { c.Pages = web.Pages() }

// Every address below the pages returns the same document, and no page needs a key.
func TestDeepLinksLeadToThePages(t *testing.T) {
	h := open(t, withPages)
	nobody := []string{"Authorization", ""}
	if r := h.call("GET", "./", "", nobody...); r.status != 303 || r.header.Get("Location") != "/ai/runs" {
		t.Errorf("the root answers %d and leads to %q", r.status, r.header.Get("Location"))
	}
	first := h.call("GET", "./ai/runs", "", nobody...).want(200, nil)
	for _, path := range []string{"./ai/", "./ai/runs/new", "./ai/runs/01a1fd1d-879a-7bbf-a305-a1c04833cbd8?panel=events", "./ai/settings"} {
		if r := h.call("GET", path, "", nobody...).want(200, nil); string(r.body) != string(first.body) {
			t.Errorf("%s is another document than /ai/runs", path)
		}
	}
	h.call("GET", "./assets/none.js", "", nobody...).problem(404, "not_found", "")
	h.call("GET", "./api/nothing", "", nobody...).problem(404, "not_found", "")
	h.call("POST", "./ai/runs", "", nobody...).problem(405, "invalid_argument", "")
}

// Browsers revalidate the document each time, at no cost if it is unchanged. The files that it
// loads have names that change with the content, and are cached.
func TestPagesAreKeptByBrowsersAsLongAsTheyHold(t *testing.T) {
	h := open(t, withPages)
	r := h.call("GET", "./ai/runs", "").want(200, nil)
	etag := r.header.Get("ETag")
	if r.header.Get("Cache-Control") != "no-cache" || etag == "" {
		t.Errorf("the document has Cache-Control %q and ETag %q", r.header.Get("Cache-Control"), etag)
	}
	if r := h.call("GET", "./ai/settings", "", "If-None-Match", etag); r.status != 304 || len(r.body) > 0 {
		t.Errorf("the same document again: %d with %d bytes", r.status, len(r.body))
	}
	h.call("GET", "./ai/settings", "", "If-None-Match", `"other"`).want(200, nil)
	script := assetIn(t, string(r.body), ".js")
	loaded := h.call("GET", "."+script, "").want(200, nil)
	if got := loaded.header.Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
		t.Errorf("%s has Cache-Control %q", script, got)
	}
	if got := loaded.header.Get("Content-Type"); got != "text/javascript; charset=utf-8" {
		t.Errorf("%s has the type %q", script, got)
	}
	if z := h.call("GET", "."+script, "", "Accept-Encoding", "gzip"); z.header.Get("Content-Encoding") != "gzip" || len(z.body) >= len(loaded.body) {
		t.Errorf("%s is not compressed: %q, %d bytes of %d", script, z.header.Get("Content-Encoding"), len(z.body), len(loaded.body))
	}
}

// assetIn returns the file of that kind that a document loads.
func assetIn(t *testing.T, document, kind string) string {
	t.Helper()
	for _, part := range strings.Split(document, `"`) {
		if strings.HasPrefix(part, "/assets/") && strings.HasSuffix(part, kind) {
			return part
		}
	}
	t.Fatalf("the document loads no %s:\n%s", kind, document)
	return ""
}

// The pages run only their own script files, load nothing from elsewhere, and cannot be framed.
func TestPagesTrustNothingButThisServer(t *testing.T) {
	h := open(t, withPages)
	r := h.call("GET", "./ai/runs", "").want(200, nil)
	policy := map[string]string{}
	for one := range strings.SplitSeq(r.header.Get("Content-Security-Policy"), ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(one), " ")
		policy[name] = value
	}
	for name, want := range map[string]string{
		"default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "connect-src": "'self'", "img-src": "'self' data:",
		"frame-ancestors": "'none'", "base-uri": "'none'",
	} {
		if policy[name] != want {
			t.Errorf("%s is %q, not %q", name, policy[name], want)
		}
	}
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY"} {
		if got := r.header.Get(name); got != want {
			t.Errorf("%s is %q, not %q", name, got, want)
		}
	}
	for _, outside := range []string{"http:", "https:", "//", "<style", "onload=", "<script>"} {
		if strings.Contains(string(r.body), outside) {
			t.Errorf("the document holds %s:\n%s", outside, r.body)
		}
	}
}

// Pages without their document are a build error, which is detected at the start.
func TestPagesNeedTheirDocument(t *testing.T) {
	h := open(t)
	_, err := httpapi.New(httpapi.Config{Engine: h.engine, Log: h.log, Pages: fstest.MapFS{"assets/a.js": {Data: []byte("1")}}})
	if err == nil || !strings.Contains(err.Error(), "index.html") {
		t.Errorf("without index.html: %v", err)
	}
	if r := h.call("GET", "./", ""); r.status != 303 || r.header.Get("Location") != "/docs" {
		t.Errorf("without pages the root answers %d and leads to %q", r.status, r.header.Get("Location"))
	}
}
