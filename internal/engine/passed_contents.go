package engine

import (
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// workersJSON are the rules for a worker's contents other than entries.
var workersJSON = perdure.DocumentRules{Workers: true}

// passedMost is how many of the contents that were uploaded last are known to have
// passed; up to twice as many are.
const passedMost = 4096

// passedContents are uploaded contents that were checked as they came, and are JSON as
// workers may send it. A content does not change once it is there whole. What is not
// known here, as after a restart or at another server, is read to be checked.
type passedContents struct {
	mu         sync.Mutex // guards what follows
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

// checksUploads reports whether an owner's contents are checked as they come: a
// client's are checked by other rules.
func (e *Engine) checksUploads(owner perdure.BlobOwner) bool {
	return !e.Plain && (owner.Lease != nil || owner.TaskLease != nil)
}
