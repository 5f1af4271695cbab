package hold

import (
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/perdure/perdure/internal/sandbox"
)

// linkedEntries is the maximum number of files in the data directory that are examined for hard
// links.
const linkedEntries = 200

// Linked returns a warning if a file that commands must not read has more than one name (hard
// link), because a sandbox hides only the names that are known to it. It returns "" if there is no
// such file.
func Linked(secrets []*File, data *File) string {
	for _, secret := range secrets {
		if n := secret.names(); n > 1 {
			return linked(secret.name(), n)
		}
	}
	if data == nil {
		return ""
	}
	dir := data.name()
	for _, e := range sandbox.SomeEntries(dir, linkedEntries) {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && namesOf(info) > 1 {
			return linked(filepath.Join(dir, e.Name()), namesOf(info))
		}
	}
	return ""
}

func linked(path string, names uint64) string {
	return fmt.Sprintf("%s has %d names (hard links), and commands may read it by another one: make a copy, and remove all names of the original", path, names)
}

// namesOf returns the number of names (hard links) of a file, or 1 if the system does not report
// it.
func namesOf(info fs.FileInfo) uint64 { return max(1, linksOf(info)) }
