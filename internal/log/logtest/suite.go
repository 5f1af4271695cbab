package logtest

import (
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store/opentest"
)

// patience is the maximum time that a test waits for a run.
const patience = 2 * time.Minute

// finished starts a run, waits for its end, and returns the deployment and the execution's id.
func finished(t *testing.T, open opentest.Reopener) (*deployment, uuid.UUID) {
	t.Helper()
	h := newDeployment(t, open)
	id, done := h.begin()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := Whole(ctx, Projections(h.api(id))["consolidated"]); err != nil {
		t.Fatal(err)
	}
	<-done
	return h, id
}

// CutAndResume reads the log of an ended run in every projection. It checks that a reading that is
// cut and resumed has the same content as an uninterrupted one. The reading is resumed on another
// server over the same store. There is one cut after every event. On PostgreSQL, where reads are
// slower, there is a cut only after every seventh event, from a random start.
func CutAndResume(t *testing.T, open opentest.Reopener) {
	h, id := finished(t, open)
	projections, wholes := Projections(h.api(id)), map[string][]Event{}
	for name, p := range projections {
		whole, err := Whole(t.Context(), p)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		wholes[name] = whole
	}
	checkNumbers(t, wholes)
	h.restart()
	first, step := 1, 1
	if strings.HasSuffix(t.Name(), "/postgres") {
		step = 7
		first += int(Seed(t) % uint64(step))
	}
	for name, p := range projections {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			CutEverywhere(t, p, wholes[name], first, step)
		})
	}
}

// checkNumbers checks the seqs and the cursors in the event streams.
func checkNumbers(t *testing.T, given map[string][]Event) {
	t.Helper()
	all := given["consolidated"]
	if err := checkDense(all); err != nil {
		t.Errorf("consolidated: %v", err)
	}
	for _, name := range []string{"stream", "types", "few types"} {
		if err := checkFiltered(all, given[name]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"consolidated", "stream", "types", "few types"} {
		if err := checkPositions(given[name]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Live reads every projection during a run, over connections that break at random moments. The
// server is restarted `restarts` times. At the end, each reader must have the same content as a
// reader that starts after the run.
func Live(t *testing.T, open opentest.Reopener, restarts int) {
	h := newDeployment(t, open)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	id, done := h.begin()
	readers := Attach(ctx, t, h.api(id), Seed(t), func(error) error { return h.ready(ctx) })
	h.restartAfter(ctx, Projections(h.api(id))["consolidated"], restarts)
	readers.Compare(ctx)
	<-done
}

// Readers read every projection of a log at the same time.
type Readers struct {
	t           *testing.T
	projections map[string]Projection
	reading     sync.WaitGroup

	mu    sync.Mutex // guards given
	given map[string][]Event
}

// Attach starts a reader for every projection, over connections that break at random moments. After
// each error of its connection, a reader calls the function `again` with the error, and then
// continues.
func Attach(ctx context.Context, t *testing.T, a API, seed uint64, again func(error) error) *Readers {
	r := &Readers{t: t, projections: Projections(a), given: map[string][]Event{}}
	for n, name := range slices.Sorted(maps.Keys(r.projections)) {
		chance := rand.New(rand.NewPCG(seed, uint64(n))) //nolint:gosec // a test's choices
		r.reading.Go(func() {
			all, err := Wander(ctx, r.projections[name], chance, func(err error) error {
				if ctx.Err() != nil || IsFault(err) {
					return err
				}
				return again(err)
			})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.given[name] = all
		})
	}
	return r
}

// Compare waits until all readers have reached the end of the log. It checks that each reader has
// the same content as a new reader.
func (r *Readers) Compare(ctx context.Context) {
	r.t.Helper()
	r.reading.Wait()
	if r.t.Failed() {
		return
	}
	for name, p := range r.projections {
		whole, err := Whole(ctx, p)
		if err != nil {
			r.t.Errorf("%s: %v", name, err)
		} else if got, want := p.Show(r.given[name]), p.Show(whole); got != want {
			r.t.Errorf("%s: %s", name, difference(got, want))
		}
	}
}

// restartAfter restarts the server as many times as `times` says. Before each restart it reads 40
// events.
func (h *deployment) restartAfter(ctx context.Context, p Projection, times int) {
	h.t.Helper()
	var held []Event
	for range times {
		left := 40
		for e, err := range p.Read(ctx, held) {
			if err != nil {
				h.t.Error(err)
				return
			}
			held = append(held, e)
			if left--; left == 0 {
				break
			}
		}
		h.restart()
	}
}

// Seed returns the seed for the random choices of a test.
func Seed(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("PERDURE_LOG_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("PERDURE_LOG_SEED: %v", err)
		}
	}
	t.Logf("PERDURE_LOG_SEED=%d", seed)
	return seed
}
