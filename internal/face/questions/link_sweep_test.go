package questions_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// TestExpiredLinksAreSwept checks that a sweep deletes links after they have expired, and not
// before. This holds for links to open and to decided questions.
func TestExpiredLinksAreSwept(t *testing.T) {
	each(t, func(h *testServer) {
		_, ann := h.newKey("Ann", perdure.KeyApprover)
		a, b := h.start("x"), h.start("y")
		used, open := a.ask("used"), b.ask("open")
		for _, id := range []uuid.UUID{used, open} {
			_, path := h.link(id, ann)
			if id == used {
				wantPage(h.T, h.submit(path, h.open(path), "verdict", "approve"), 200, "Approved by Ann")
			}
		}
		stored := func() (n int) {
			for id, run := range map[uuid.UUID]uuid.UUID{used: a.ID, open: b.ID} {
				links, err := h.Engine.Store.Links(h.T.Context(), run, id)
				if err != nil {
					h.T.Fatal(err)
				}
				n += len(links)
			}
			return n
		}
		sweep := func() {
			if err := h.Engine.Pruner.SweepLinks(h.T.Context()); err != nil {
				h.T.Fatal(err)
			}
		}
		sweep()
		if n := stored(); n != 2 {
			h.T.Errorf("%d links are stored before they expire", n)
		}
		h.shift = perdure.LinkLife + time.Minute
		sweep()
		if n := stored(); n != 0 {
			h.T.Errorf("%d links are stored after they have expired", n)
		}
	})
}
