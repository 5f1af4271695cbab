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
	store, _, _ := strings.Cut(b.store, ":")
	name := filepath.Join(b.Profiles, fmt.Sprintf("%s-%s-%s.cpu", b.workload.Name, store, b.worker))
	return func() error { return s.server.ask("profile", "", nil) }, s.server.ask("profile", name, nil)
}
