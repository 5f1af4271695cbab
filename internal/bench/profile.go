package bench

import (
	"fmt"
	"path/filepath"
	"strings"
)

// profile keeps a profile of the server's CPU while a workload runs, if it is
// asked for. The function ends it.
func (b *bench) profile(s *stand) (end func() error, err error) {
	if b.Profiles == "" {
		return func() error { return nil }, nil
	}
	return func() error { return s.server.ask("profile", "", nil) }, s.server.ask("profile", b.profilePath("cpu"), nil)
}

// heap keeps a profile of what the server holds in memory, if it is asked for.
func (b *bench) heap(s *stand) error {
	if b.Profiles == "" {
		return nil
	}
	return s.server.ask("heap", b.profilePath("heap"), nil)
}

// profilePath is where a profile of that kind is kept.
func (b *bench) profilePath(kind string) string {
	store, _, _ := strings.Cut(b.store, ":")
	return filepath.Join(b.Profiles, fmt.Sprintf("%s-%s-%s.%s", b.workload.Name, store, b.worker, kind))
}
