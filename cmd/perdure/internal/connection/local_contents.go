package connection

import (
	"os"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/builtin"
	"github.com/perdure/perdure/worker/local"
)

// contentServer serves the contents of LOCAL runs to clients.
type contentServer interface {
	ServeContents(org string, worker uuid.UUID, source perdure.ContentSource) (end func())
}

// serveContents serves the contents of LOCAL runs from the workers' stores in this data directory.
// It is for commands that only read, while no worker is connected. The function `open` opens a
// worker's store; a store that `open` refuses is skipped. The returned function `hide` stops
// serving.
func serveContents(data, org string, own contentServer, open func(dir string) (*local.Store, error)) (hide func()) {
	var ends []func()
	for n := 1; n <= builtin.MaxContentStores; n++ {
		dir := builtin.ContentStoreDir(data, n)
		if _, err := os.Stat(dir); err != nil {
			break
		}
		s, err := open(dir)
		if err != nil {
			continue
		}
		ends = append(ends, own.ServeContents(org, s.WorkerID(), s), func() { _ = s.Close() }) // opened only for reading
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}
