package uploads

import (
	"testing"

	"github.com/google/uuid"
)

// TestTheCacheRemembersTheNewestUploads checks that the cache still has the first and the last of
// uploadCacheSize+1 contents. After twice as many further contents, the cache no longer has the
// first one, and has at most 2*uploadCacheSize contents.
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
