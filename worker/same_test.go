package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/longtest"
)

// witness records what agent code sees at each place of its program; the places are numbered. It
// fails the test if the code sees something different when it reaches the same place of the same
// execution again.
type witness struct {
	*bench
	mu   sync.Mutex // guards the field seen
	seen map[string]string
	seeN int
}

func (o *witness) saw(ctx agent.Context, place int, what string, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		o.Error(err)
	}
	key := fmt.Sprintf("%s %d %s", ctx.ID(), place, what)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seeN++
	if before, known := o.seen[key]; known && before != string(raw) {
		o.Errorf("at place %d %s was, and is when entered again:\n%s", place, what, cmp.Diff(before, string(raw)))
	}
	o.seen[key] = string(raw)
}

// walk does one random operation of agent code and records the values that the operation returns.
// The parameter `place` is the number of this operation.
func (o *witness) walk(ctx agent.Context, place int, dice *rand.Rand) error {
	name := fmt.Sprintf("%d", place)
	switch dice.IntN(9) {
	case 0:
		id, err := ctx.Append(user("said at "+name), agent.WithKey(name))
		if err != nil {
			return err
		}
		var path []perdure.Entry
		for e, err := range ctx.Messages() {
			if err != nil {
				return err
			}
			path = append(path, e)
			if e.CreatedAt.IsZero() {
				o.Errorf("entry %s has no time", e.ID)
			}
		}
		if n := len(path); n == 0 || path[n-1].ID != id {
			return fmt.Errorf("the path of %d does not end with the entry appended", n)
		}
		tail, err := ctx.Tail(1)
		if err != nil {
			return err
		}
		o.saw(ctx, place, "the path", path)
		o.saw(ctx, place, "the tail", tail)
	case 1:
		v, err := agent.Step(ctx, name, func(context.Context) (map[string]any, error) {
			return map[string]any{"random": uuid.NewString(), "n": 1 << 60}, nil
		})
		o.saw(ctx, place, "the step", v)
		return err
	case 2:
		_, err := agent.Step(ctx, name, func(context.Context) (int, error) {
			return 0, perdure.Errorf(perdure.RateLimited, "at %s", uuid.NewString())
		})
		o.saw(ctx, place, "the step's error", []string{err.Error(), string(perdure.CodeOf(err))})
	case 3:
		results, err := ctx.Await(agent.All, ctx.Schedule("double", place), ctx.Schedule("fail", place))
		if err != nil {
			return err
		}
		o.saw(ctx, place, "the results", results)
		o.saw(ctx, place, "the errors", []string{fmt.Sprint(results[0].Err()), fmt.Sprint(results[1].Err())})
	case 4:
		i, v, err := agent.Select[int](ctx, ctx.Schedule("fail", place), ctx.Schedule("double", place), ctx.Schedule("double", place+1000))
		o.saw(ctx, place, "the select", []int{i, v})
		return err
	case 5:
		s, err := ctx.WaitSignal("m", time.Duration(dice.IntN(2))*time.Hour)
		s.State, s.TakenAt = "", 0 // these fields may differ: the signal is taken in between
		o.saw(ctx, place, "the signal", s)
		return err
	case 6:
		_, err := ctx.WaitSignal("never", time.Millisecond)
		o.saw(ctx, place, "the timeout", errors.Is(err, agent.ErrTimeout))
	case 7:
		m, err := ctx.WaitAny(0, agent.OnTask(ctx.Schedule("double", place)), agent.OnTimer(time.Millisecond), agent.OnSignal("m"))
		for i := range m.Signals {
			m.Signals[i].State, m.Signals[i].TakenAt = "", 0
		}
		o.saw(ctx, place, "what was met", m)
		return err
	case 8:
		return ctx.Sleep(time.Millisecond)
	}
	return nil
}

// TestSameValuesInPlaceAndEnteredAgain checks that a function that is entered again gets the same
// values as before from each of 14 random operations. The values are entries, results, errors,
// signals and outcomes of waits.
func TestSameValuesInPlaceAndEnteredAgain(t *testing.T) {
	longtest.Skip(t, "seconds")
	for seed := range uint64(4) {
		eachWay(t, time.Minute, func(b *bench, way func(*Config)) {
			o := &witness{bench: b, seen: map[string]string{}}
			defineTasks(b)
			const places = 14
			b.agent("a", func(ctx agent.Context) (string, error) {
				for place := range places {
					dice := rand.New(rand.NewPCG(seed, uint64(place))) //nolint:gosec // a test's dice
					if err := o.walk(ctx, place, dice); err != nil {
						return "", fmt.Errorf("place %d: %w", place, err)
					}
				}
				_, err := ctx.WaitSignal("end", 0)
				return "fine", err
			})
			b.known("a")
			id := b.start("a")
			for i := range places {
				b.signal(id, "m", fmt.Sprint(i))
			}
			w := b.work(way)
			atEnd := func(x *perdure.Execution) bool {
				return x.Status == perdure.StatusWaiting && x.Wait.Signals() != nil && x.Wait.Signals()[0] == "end"
			}
			b.until(id, "the end of its program", atEnd)
			w.stop()
			b.work(way) // enters the function again, even if goroutines are parked
			b.signal(id, "end", "1")
			b.output(id, "fine")
			if o.seeN < 2*len(o.seen) {
				b.Errorf("%d things were seen %d times; it was not entered again", len(o.seen), o.seeN)
			}
		})
	}
}

// TestStateIsDecodedFromWhatIsStored checks that State returns the state as it was stored, not the
// Go value that was passed to Checkpoint: a field without JSON encoding is zero.
func TestStateIsDecodedFromWhatIsStored(t *testing.T) {
	type state struct {
		Kept    int
		dropped int
	}
	eachWay(t, 5*time.Second, func(b *bench, way func(*Config)) {
		b.agent("a", func(ctx agent.Context) (string, error) {
			if err := ctx.Checkpoint(state{1, 2}); err != nil {
				return "", err
			}
			var st state
			known, err := ctx.State(&st)
			return fmt.Sprint(known, st), err
		})
		b.work(way)
		b.output(b.start("a"), "true {1 0}")
	})
}
