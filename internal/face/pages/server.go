// Package pages serves the web pages and the description of the API. The pages contain no data of
// an org and need no key.
package pages

import (
	"io/fs"
	"net/http"
	"strings"

	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/operation"
)

// server is what the handlers of this package share.
type server struct {
	*front.Front
	files fs.FS // nil if the server has no web pages
}

// docsPolicy is the Content-Security-Policy of the page that shows the OpenAPI document. It lets
// the page load nothing.
const docsPolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Register registers the OpenAPI document, the page that shows it, and the files of the web pages.
// All operations must have been registered before. The files must include index.html. If the
// parameter `files` is nil, the path / redirects to the page that shows the document.
func Register(a *operation.API, files fs.FS) error {
	doc, spec, err := a.Document()
	if err != nil {
		return err
	}
	docs, err := renderDocs(doc)
	if err != nil {
		return err
	}
	s := &server{a.Front, files}
	s.fixed("GET /openapi.json", "application/json", spec)
	s.fixed("GET /docs", "text/html; charset=utf-8", docs)
	s.Handle(front.Route{Pattern: "GET /{$}"}, s.home)
	return s.register()
}

func (s *server) fixed(pattern, contentType string, content []byte) {
	s.Handle(front.Route{Pattern: pattern, Compress: true}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Security-Policy", docsPolicy)
		_, _ = w.Write(content) // fails only if the client has disconnected
	})
}

// register registers the files of the web pages. All paths below /ai/ get the same HTML document,
// whose script decides what to show.
func (s *server) register() error {
	pages, err := readPages(s.files)
	if err != nil {
		return err
	}
	index, ok := pages["/index.html"]
	if !ok {
		return nil
	}
	s.Handle(front.Route{Pattern: "GET " + pagesPath, Compress: true}, index.serve)
	for name, p := range pages {
		if name != "/index.html" {
			s.Handle(front.Route{Pattern: "GET " + name, Compress: strings.HasPrefix(name, assetsPath)}, p.serve)
		}
	}
	return nil
}
