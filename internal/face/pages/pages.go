package pages

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

const (
	runsPage = "/ai/runs"
	// pagesPath is the prefix of the paths of all pages.
	pagesPath = "/ai/"
	// assetsPath is the prefix of the paths of assets, which are files with a hash of their content
	// in the name.
	assetsPath = "/assets/"
)

// pagesPolicy lets the pages load only files of this server. It forbids scripts, styles, fonts and
// images of other origins, inline scripts, and connections to other servers. Images may also be
// data URLs, as in conversations.
const pagesPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// page is one file of the web user interface, kept in memory.
type page struct {
	content     []byte
	contentType string
	etag        string
}

// readPages reads all files of the web user interface into memory. The map's keys are the paths
// of the files.
func readPages(files fs.FS) (map[string]page, error) {
	pages := map[string]page{}
	if files == nil {
		return pages, nil
	}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		pages["/"+name] = page{content, contentTypeOf(name), `"` + hex.EncodeToString(sum[:12]) + `"`}
		return nil
	})
	if err == nil && pages["/index.html"].content == nil {
		err = errors.New("the pages have no index.html")
	}
	return pages, err
}

// contentTypes are the content types of the files that a build of the web pages creates. The table
// of the operating system may lack a type, and browsers run scripts only with the right type.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".png": "image/png", ".woff2": "font/woff2", ".webmanifest": "application/manifest+json",
}

func contentTypeOf(name string) string {
	if t, ok := contentTypes[path.Ext(name)]; ok {
		return t
	}
	return "application/octet-stream"
}

// home redirects from / to the web pages. If the URL has the token that dev mode prints, home also
// signs the browser in.
func (s *server) home(w http.ResponseWriter, r *http.Request) {
	if len(s.Hosts) > 0 && r.URL.Query().Has("token") {
		s.tokenLogin(w, r)
		return
	}
	http.Redirect(w, r, s.firstPage(), http.StatusSeeOther)
}

// firstPage returns the path to which / redirects: the list of runs or, without web pages, the
// description of the API.
func (s *server) firstPage() string {
	if s.files == nil {
		return "/docs"
	}
	return runsPage
}

// serve sends the file as a response. Browsers may cache an asset forever, because its name changes
// with its content. Every other file must be revalidated before each use.
func (p page) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", p.contentType)
	h.Set("Content-Security-Policy", pagesPolicy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY")
	h.Set("ETag", p.etag)
	if strings.HasPrefix(r.URL.Path, assetsPath) {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		h.Set("Cache-Control", "no-cache")
	}
	if r.Header.Get("If-None-Match") == p.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(p.content) // fails only if the client has disconnected
}
