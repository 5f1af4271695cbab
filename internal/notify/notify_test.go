package notify_test

import (
	"testing"

	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/notify/notifytest"
)

func TestLocal(t *testing.T) {
	notifytest.Inside(t, func(testing.TB) notify.Notifier { return &notify.Local{} })
}

// TestSure checks that hints count as reliable only if no other process writes to the store.
func TestSure(t *testing.T) {
	if !notify.Sure(&notify.Local{}) || notify.Sure(&notify.Local{Shared: true}) {
		t.Error("hints are relied on that may be lost, or not on those that cannot be")
	}
}
