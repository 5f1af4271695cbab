// Package web holds the pages that the server shows at its root, as they were built from the folder
// app. The repository contains the archive of these pages, so that a build of the program needs no
// Node.
package web

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"io/fs"
)

//go:embed dist.zip
var dist []byte

// Pages returns the built files: index.html, and the files under assets/ that index.html loads. The
// names of the files under assets/ change with their content.
func Pages() fs.FS {
	pages, err := zip.NewReader(bytes.NewReader(dist), int64(len(dist)))
	if err != nil {
		panic(err) // the archive is part of the program
	}
	return pages
}
