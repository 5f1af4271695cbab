package uploads

import (
	"testing"

	"github.com/google/uuid"
)

// TestTheCacheRemembersTheNewestUploads checks that the cache has at least the uploadCacheSize
// newest contents, at most twice that number, and no longer the oldest ones.
func TestTheCacheRemembersTheNewestUploads(t *testing.T) {
	var p uploadCache
	first, last := uuid.New(), uuid.Nil
	p.add(first)
	for range uploadCacheSize {
		last = uuid.New()
		p.add(last)
	}
	if !p.has(first) || !p.has(last) || p.has(uuid.New()) {
		t.Error("what passed is not known")
	}
	for range 2 * uploadCacheSize {
		p.add(uuid.New())
	}
	if p.has(first) || len(p.young)+len(p.old) > 2*uploadCacheSize {
		t.Errorf("%d are known", len(p.young)+len(p.old))
	}
}
