package engine

import (
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// workersJSON are the rules for contents of workers other than entries.
var workersJSON = perdure.DocumentRules{Workers: true}

// passedMost is the minimum number of the newest checked uploads that are remembered; the maximum
// is twice that.
const passedMost = 4096

// passedContents remembers uploaded contents that were checked during the upload and are JSON that
// workers may send. A complete content never changes. A content that is not remembered, as after a
// restart or on another server, is read again to check it.
type passedContents struct {
	mu         sync.Mutex // guards the fields below
	young, old map[uuid.UUID]struct{}
}

func (p *passedContents) add(blob uuid.UUID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.young == nil || len(p.young) >= passedMost {
		p.young, p.old = map[uuid.UUID]struct{}{}, p.young
	}
	p.young[blob] = struct{}{}
}

func (p *passedContents) has(blob uuid.UUID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, young := p.young[blob]
	_, old := p.old[blob]
	return young || old
}

// checksUploads reports whether the owner's contents are checked during the upload. Contents of
// clients are not, because other rules apply to them.
func (e *Engine) checksUploads(owner perdure.BlobOwner) bool {
	return !e.Plain && (owner.Lease != nil || owner.TaskLease != nil)
}
