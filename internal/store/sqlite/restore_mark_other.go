//go:build !linux

package sqlite

import "io/fs"

// identity returns a text of the modification time of a file. A copy of the file with another
// modification time has another identity.
func identity(f fs.FileInfo) string { return f.ModTime().String() }
