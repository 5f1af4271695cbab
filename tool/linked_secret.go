package tool

import (
	"fmt"
	"io/fs"
	"path/filepath"
)

// linkedEntries bounds the files of the data directory that are looked at.
const linkedEntries = 200

// linkedNote warns of a file that commands must not read and that has a second
// name, by a hard link: a fence covers names, and knows one of them. It is "" if
// there is none.
func linkedNote(secrets []*held, data *held) string {
	for _, secret := range secrets {
		if n := secret.names(); n > 1 {
			return linked(secret.name(), n)
		}
	}
	if data == nil {
		return ""
	}
	dir := data.name()
	for _, e := range someEntries(dir, linkedEntries) {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && namesOf(info) > 1 {
			return linked(filepath.Join(dir, e.Name()), namesOf(info))
		}
	}
	return ""
}

func linked(path string, names uint64) string {
	return fmt.Sprintf("%s has %d names (hard links), and commands may read it by another one: make a copy, and remove all names of the original", path, names)
}

// namesOf is how many names a file has, 1 where the system does not say.
func namesOf(info fs.FileInfo) uint64 { return max(1, linksOf(info)) }
