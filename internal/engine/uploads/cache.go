package uploads

import (
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// workersJSON contains the rules for the JSON that workers send, except for the contents of
// entries.
var workersJSON = perdure.DocumentRules{Workers: true}

// uploadCacheSize is the number of the newest checked uploads that always stay in the cache. The
// cache contains at most twice that number.
const uploadCacheSize = 4096

// uploadCache contains the ids of uploaded contents that were found to be valid JSON during the
// upload. These contents need no second check, because a complete content never changes. A content
// that is not in the cache, for example after a restart, is read again and checked.
type uploadCache struct {
	mu         sync.Mutex // guards the fields below
	young, old map[uuid.UUID]struct{}
}

func (p *uploadCache) add(blob uuid.UUID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.young == nil || len(p.young) >= uploadCacheSize {
		p.young, p.old = map[uuid.UUID]struct{}{}, p.young
	}
	p.young[blob] = struct{}{}
}

func (p *uploadCache) has(blob uuid.UUID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, young := p.young[blob]
	_, old := p.old[blob]
	return young || old
}

// checksUploads reports whether the contents of the owner are checked during the upload. Contents
// of clients are not, because other rules apply to them.
func (u *Uploads) checksUploads(owner perdure.BlobOwner) bool {
	return !u.plain && (owner.Lease != nil || owner.TaskLease != nil)
}
