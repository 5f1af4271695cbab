package layering

import (
	"regexp"
	"testing"
)

// wholeReaders are the packages that may use the interface store.Reader: those that implement it,
// and two test kits that wrap it. Every other package uses one of the interfaces that store.Reader
// embeds, or declares the methods that it calls.
var wholeReaders = map[string]bool{
	"internal/store/sql/read":  true,
	"internal/engine":          true,
	"internal/face/facetest":   true,
	"internal/store/storetest": true,
}

var aWholeReader = regexp.MustCompile(`\bstore\.Reader\b`)

// TestReadsTakeSmallReaders checks that only the packages in `wholeReaders` depend on the complete
// interface store.Reader.
func TestReadsTakeSmallReaders(t *testing.T) {
	found := directoriesWith(t, aWholeReader)
	for dir := range found {
		if !wholeReaders[dir] {
			t.Errorf("%s names store.Reader; take the smallest interface with the methods that it calls", dir)
		}
	}
	for dir := range wholeReaders {
		if !found[dir] {
			t.Errorf("%s does not name store.Reader any more; remove its exception", dir)
		}
	}
}
