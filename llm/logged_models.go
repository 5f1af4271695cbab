package llm

import (
	"crypto/sha256"
	"log/slog"
	"strings"
	"sync"
)

const (
	// maxLoggedModels is the maximum number of models in loggedModels. Clients choose the ids of
	// models, so without a limit they could fill the memory and the log.
	maxLoggedModels = 1000
	// maxLoggedName is the maximum number of bytes of a model's name in the log.
	maxLoggedName = 200
)

// loggedModels is the set of models about which a warning was logged. Its size is limited. The zero
// value is empty. It is safe for concurrent use.
type loggedModels struct {
	mu  sync.Mutex                     // guards the field all
	all map[[sha256.Size]byte]struct{} // hashes of names, because a name may be long
}

// log logs that the size of the model's context window is assumed. For each model, log writes this
// warning once. When the set is full, log writes no further warnings.
func (s *loggedModels) log(to *slog.Logger, m Model, window int) {
	name := m.String()
	added, full := s.add(sha256.Sum256([]byte(name)))
	if !added {
		return
	}
	to.Warn("the window of a model is not known and assumed; --model-table sets it", "model", shortName(name), "window", window)
	if full {
		to.Warn("no further models without a window are logged", "models", maxLoggedModels)
	}
}

// shortName returns the name, shortened to maxLoggedName bytes.
func shortName(name string) string {
	if len(name) <= maxLoggedName {
		return name
	}
	return strings.ToValidUTF8(name[:maxLoggedName], "") + "..."
}

// add adds the hash of a model's name to the set, unless the set already contains it or is full.
// The result `added` reports whether the hash was added, and the result `full` whether this made
// the set full.
func (s *loggedModels) add(name [sha256.Size]byte) (added, full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.all[name]; there || len(s.all) >= maxLoggedModels {
		return false, false
	}
	if s.all == nil {
		s.all = map[[sha256.Size]byte]struct{}{}
	}
	s.all[name] = struct{}{}
	return true, len(s.all) == maxLoggedModels
}
