package face_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store/opentest"
	"github.com/perdure/perdure/internal/store/sqlite"
)

// everyByte reports whether the tests cut the connection at every byte of a log. Otherwise they cut
// it at random bytes.
func everyByte() bool { return os.Getenv("PERDURE_LOG_CUTS") == "all" }

// manyCuts returns the number of random bytes at which PERDURE_LOG_CUTS demands cuts; 0 if it is not
// set.
func manyCuts(t *testing.T) int {
	t.Helper()
	text := os.Getenv("PERDURE_LOG_CUTS")
	if text == "" || everyByte() {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("PERDURE_LOG_CUTS is %q; it must be a number of cuts, or all", text)
	}
	return n
}

// fewCuts is the number of random bytes of a log at which the connection is cut.
const fewCuts = 5

// cutChance returns the random source that chooses the cuts.
func cutChance(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("PERDURE_LOG_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("PERDURE_LOG_SEED: %v", err)
		}
	}
	t.Logf("PERDURE_LOG_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// cutsOf returns the byte offsets at which the tests cut a response of `bytes` bytes: all offsets,
// or random ones. PERDURE_LOG_CUTS sets the number of random offsets; its default is `few`.
func cutsOf(t *testing.T, chance *rand.Rand, bytes int64, few int) []int64 {
	t.Helper()
	var cuts []int64
	if everyByte() {
		for n := range bytes {
			cuts = append(cuts, n)
		}
		return cuts
	}
	for range max(few, manyCuts(t)) {
		cuts = append(cuts, chance.Int64N(bytes))
	}
	return cuts
}

func (h *testServer) address() string { return strings.TrimPrefix(h.URL, "http://") }

// whole lets the test's client read a log over a connection that is not cut, and checks the
// client's copy of the log. It returns the number of bytes that the client received.
func (s *stranger) whole(h *testServer, id uuid.UUID, w way, want heldLog, resets int) int64 {
	s.t.Helper()
	s.proxy.follow(func(int) (string, int64) { return h.address(), -1 })
	if wrong := s.read(h, id, w).differs(want, resets); wrong != "" {
		s.t.Fatalf("%s: %s", w, wrong)
	}
	return s.proxy.given()
}

// cutOff reads a log with the test's client over three connections. The first is cut after `at`
// bytes, the second after a random number of bytes, and the third not at all.
func (s *stranger) cutOff(h *testServer, id uuid.UUID, w way, at int64, chance *rand.Rand) answer {
	s.t.Helper()
	second := chance.Int64N(2*at + 500)
	s.proxy.follow(func(n int) (string, int64) { return h.address(), []int64{at, second, -1}[min(n, 2)] })
	return s.read(h, id, w)
}

// TestAStrangerReadsEveryLog checks that a client that is written only from the documentation
// builds an exact copy of each log, even if its connection is cut at random bytes or at every byte.
func TestAStrangerReadsEveryLog(t *testing.T) {
	h := open(t)
	s, chance := newStranger(t), cutChance(t)
	for _, name := range slices.Sorted(maps.Keys(recordings)) {
		x := h.Start("")
		r := h.Claim()
		recordings[name](h, r)
		if name != "a run that failed" {
			r.Complete()
		}
		for _, w := range ways {
			t.Run(name+"/"+w.String(), func(t *testing.T) {
				want := h.stored(x.ID, w)
				bytes := s.whole(h, x.ID, w, want, 0)
				for _, at := range cutsOf(t, chance, bytes, fewCuts) {
					if wrong := s.cutOff(h, x.ID, w, at, chance).differs(want, 0); wrong != "" {
						t.Fatalf("cut off after %d of %d bytes: %s", at, bytes, wrong)
					}
				}
			})
		}
	}
}

// TestAStrangerReadsALogThatGrows checks that a client whose connection is cut repeatedly while the
// log grows has the whole log at the end.
func TestAStrangerReadsALogThatGrows(t *testing.T) {
	h := open(t)
	s, chance := newStranger(t), cutChance(t)
	rounds, cuts := 1, 8
	if everyByte() || manyCuts(t) > 0 {
		rounds, cuts = 20, 30
	}
	for range rounds {
		for _, w := range ways {
			x := h.Start("")
			r := h.Claim()
			s.proxy.follow(func(int) (string, int64) { return h.address(), -1 })
			got := make(chan answer, 1)
			go func() {
				defer close(got)
				got <- s.read(h, x.ID, w)
			}()
			step := newChance(r, chance)
			for range cuts {
				s.proxy.await(chance.Int64N(300)) // fewer bytes than the server will send
				for range 1 + chance.IntN(6) {
					step()
				}
				s.proxy.cut()
			}
			r.Complete()
			if wrong := (<-got).differs(h.stored(x.ID, w), 0); wrong != "" {
				t.Fatalf("%s: %s", w, wrong)
			}
		}
	}
}

// TestAStrangerReadsAPrunedLog checks that a client of a pruned log gets one reset, and builds a
// copy of the remaining log.
func TestAStrangerReadsAPrunedLog(t *testing.T) {
	h := open(t)
	s, chance := newStranger(t), cutChance(t)
	id, _ := pruned(h, "/stream")
	for _, w := range ways {
		want := h.stored(id, w)
		bytes := s.whole(h, id, w, want, 1)
		for _, at := range cutsOf(t, chance, bytes, fewCuts) {
			if wrong := s.cutOff(h, id, w, at, chance).differs(want, 1); wrong != "" {
				t.Fatalf("%s, cut off after %d of %d bytes: %s", w, at, bytes, wrong)
			}
		}
	}
}

// TestAStrangerComesBackToAPrunedLog checks a client that reconnects to a log that was pruned in
// the meantime. If the client gets a reset, it has the remaining part of the log at the end.
// Otherwise it has the whole log.
func TestAStrangerComesBackToAPrunedLog(t *testing.T) {
	h := open(t)
	s, chance := newStranger(t), cutChance(t)
	resets := 0
	for _, w := range ways {
		first := play(h)
		bytes := s.whole(h, first.ID, w, h.stored(first.ID, w), 0)
		for range fewCuts {
			r := play(h)
			before, at := h.stored(r.ID, w), chance.Int64N(bytes)
			s.proxy.follow(func(n int) (string, int64) {
				if n == 0 {
					return h.address(), at
				}
				h.pruneLogs()
				return h.address(), -1
			})
			got := s.read(h, r.ID, w)
			want := h.stored(r.ID, w)
			if got.Resets == 0 {
				want = before
			}
			if wrong := got.differs(want, got.Resets); wrong != "" || got.Resets > 1 {
				t.Fatalf("%s, cut off after %d of %d bytes: %s", w, at, bytes, wrong)
			}
			resets += got.Resets
		}
	}
	if resets == 0 {
		t.Error("nobody was told that the log was pruned")
	}
}

// TestAStrangerComesBackToARestoredLog checks a client that reconnects by cursor after the store
// was restored from a backup. At the end it has the restored log. A client that had read the whole
// log before the restore does not reconnect, and so keeps its copy of the old log.
func TestAStrangerComesBackToARestoredLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perdure.db")
	h := openOver(t, opentest.At(path)(t, nil))
	s, chance := newStranger(t), cutChance(t)
	x := h.Start("")
	r := h.Claim()
	r.Say(userText("hi"))
	newSource(r, nil).chunk(0, "token", "what both ")
	if err := sqlite.Backup(t.Context(), path, path+".copy", func(int64, int64) {}); err != nil {
		t.Fatal(err)
	}
	restored := openOver(t, opentest.At(path+".copy")(t, nil))
	again := &run{Server: restored.Server, ID: r.ID, Lease: r.Lease, Number: r.Number, Leaf: r.Leaf}
	for n, one := range []*run{r, again} {
		one.Stream(0, 10, "token", fmt.Sprintf("have, and history %d alone", n))
		one.Stream(1, 0, "terminal", fmt.Sprintf("%d\n", n))
		one.Say(assistantText("bye"))
	}
	again.Say(userText("once more"))
	r.Complete()
	again.Complete()
	for _, w := range ways {
		if w.By != "cursor" {
			continue
		}
		want, resets := restored.stored(x.ID, w), 0
		bytes := s.whole(h, x.ID, w, h.stored(x.ID, w), 0)
		for _, at := range cutsOf(t, chance, bytes, 4*fewCuts) {
			s.proxy.follow(func(n int) (string, int64) {
				return []*testServer{h, restored}[min(n, 1)].address(), []int64{at, -1}[min(n, 1)]
			})
			got, want := s.read(h, x.ID, w), want
			if got.Resets == 0 && s.proxy.connections() == 1 {
				want = h.stored(x.ID, w) // it had received the whole log before the cut
			}
			if wrong := got.differs(want, got.Resets); wrong != "" || got.Resets > 1 {
				t.Fatalf("%s, cut off after %d of %d bytes: %s", w, at, bytes, wrong)
			}
			resets += got.Resets
		}
		if resets == 0 {
			t.Errorf("%s: nobody was told of another history", w)
		}
	}
}
