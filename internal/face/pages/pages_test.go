package pages_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/perdure/perdure/internal/face"
	"github.com/perdure/perdure/internal/face/facetest"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/web"
)

func withPages(c *face.Config) { c.Pages = web.Pages() }

// TestDeepLinksLeadToThePages checks that different addresses below /ai/ return the same document,
// without a key.
func TestDeepLinksLeadToThePages(t *testing.T) {
	h := facetest.Open(t, withPages)
	nobody := []string{"Authorization", ""}
	if r := h.Call("GET", "./", "", nobody...); r.Status != 303 || r.Header.Get("Location") != "/ai/runs" {
		t.Errorf("the root answers %d and leads to %q", r.Status, r.Header.Get("Location"))
	}
	first := h.Call("GET", "./ai/runs", "", nobody...).Want(200, nil)
	for _, path := range []string{"./ai/", "./ai/runs/new", "./ai/runs/01a1fd1d-879a-7bbf-a305-a1c04833cbd8?panel=events", "./ai/settings"} {
		if r := h.Call("GET", path, "", nobody...).Want(200, nil); string(r.Body) != string(first.Body) {
			t.Errorf("%s is another document than /ai/runs", path)
		}
	}
	h.Call("GET", "./assets/none.js", "", nobody...).Problem(404, "not_found", "")
	h.Call("GET", "./api/nothing", "", nobody...).Problem(404, "not_found", "")
	h.Call("POST", "./ai/runs", "", nobody...).Problem(405, "invalid_argument", "")
}

// TestPagesAreKeptByBrowsersAsLongAsTheyHold checks how browsers may cache the web pages. They must
// revalidate the HTML document, with the response 304 if it is unchanged. They may cache its script
// forever. The script is compressed.
func TestPagesAreKeptByBrowsersAsLongAsTheyHold(t *testing.T) {
	h := facetest.Open(t, withPages)
	r := h.Call("GET", "./ai/runs", "").Want(200, nil)
	etag := r.Header.Get("ETag")
	if r.Header.Get("Cache-Control") != "no-cache" || etag == "" {
		t.Errorf("the document has Cache-Control %q and ETag %q", r.Header.Get("Cache-Control"), etag)
	}
	if r := h.Call("GET", "./ai/settings", "", "If-None-Match", etag); r.Status != 304 || len(r.Body) > 0 {
		t.Errorf("the same document again: %d with %d bytes", r.Status, len(r.Body))
	}
	h.Call("GET", "./ai/settings", "", "If-None-Match", `"other"`).Want(200, nil)
	script := assetIn(t, string(r.Body), ".js")
	loaded := h.Call("GET", "."+script, "").Want(200, nil)
	if got := loaded.Header.Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
		t.Errorf("%s has Cache-Control %q", script, got)
	}
	if got := loaded.Header.Get("Content-Type"); got != "text/javascript; charset=utf-8" {
		t.Errorf("%s has the type %q", script, got)
	}
	if z := h.Call("GET", "."+script, "", "Accept-Encoding", "gzip"); z.Header.Get("Content-Encoding") != "gzip" || len(z.Body) >= len(loaded.Body) {
		t.Errorf("%s is not compressed: %q, %d bytes of %d", script, z.Header.Get("Content-Encoding"), len(z.Body), len(loaded.Body))
	}
}

// assetIn returns the path of the script or style file that an HTML document loads. The parameter
// `kind` is the file's extension.
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

// TestPagesTrustNothingButThisServer checks that the document's Content-Security-Policy allows only
// the server's own files, except images in data URLs. The document loads nothing from other
// servers, and no page can show it in a frame.
func TestPagesTrustNothingButThisServer(t *testing.T) {
	h := facetest.Open(t, withPages)
	r := h.Call("GET", "./ai/runs", "").Want(200, nil)
	policy := map[string]string{}
	for one := range strings.SplitSeq(r.Header.Get("Content-Security-Policy"), ";") {
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
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s is %q, not %q", name, got, want)
		}
	}
	for _, outside := range []string{"http:", "https:", "//", "<style", "onload=", "<script>"} {
		if strings.Contains(string(r.Body), outside) {
			t.Errorf("the document holds %s:\n%s", outside, r.Body)
		}
	}
}

// TestPagesNeedTheirDocument checks that New fails if the pages lack index.html. Without pages, the
// root redirects to /docs.
func TestPagesNeedTheirDocument(t *testing.T) {
	h := facetest.Open(t)
	_, err := face.New(face.Config{Config: front.Config{Engine: h.Engine}, Log: h.Log, Pages: fstest.MapFS{"assets/a.js": {Data: []byte("1")}}})
	if err == nil || !strings.Contains(err.Error(), "index.html") {
		t.Errorf("without index.html: %v", err)
	}
	if r := h.Call("GET", "./", ""); r.Status != 303 || r.Header.Get("Location") != "/docs" {
		t.Errorf("without pages the root answers %d and leads to %q", r.Status, r.Header.Get("Location"))
	}
}
