// Package web holds the pages that the server shows at its root, as they were
// built from the folder app. They are committed, so that a build of the program
// needs no Node.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Pages returns the built files: index.html, and what it loads under assets/, with
// names that change with their content.
func Pages() fs.FS {
	pages, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // dist is no path, which cannot be
	}
	return pages
}
