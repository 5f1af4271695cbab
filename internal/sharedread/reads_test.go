package sharedread

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bubble"
)

// heldReads is a Reads whose reads block until the test sends their result.
type heldReads struct {
	Reads[string, int]
	begun chan chan int // each read that begins sends the channel on which it receives its result
}

func (h *heldReads) one(ctx context.Context) (int, error) {
	return h.Get(ctx, "key", func(context.Context) (int, error) {
		found := make(chan int)
		h.begun <- found
		if n := <-found; n >= 0 {
			return n, nil
		}
		return 0, errors.New("the store is away")
	})
}

// callers calls h.one from n goroutines. The returned function waits for these calls and returns
// their results.
func (h *heldReads) callers(t *testing.T, n int) (got func() []int) {
	var all sync.WaitGroup
	found := make([]int, n)
	for i := range n {
		all.Go(func() {
			var err error
			if found[i], err = h.one(t.Context()); err != nil {
				found[i] = -1
			}
		})
	}
	synctest.Wait()
	return func() []int { all.Wait(); return found }
}

func wantEach(t *testing.T, got []int, want int) {
	t.Helper()
	for _, n := range got {
		if n != want {
			t.Fatalf("a caller got %d, want %d", n, want)
		}
	}
}

// TestASharedReadBeginsAfterItsCallers checks calls that are made during a read. These calls do not
// get the result of that read, but share one read that begins after it.
func TestASharedReadBeginsAfterItsCallers(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		h := &heldReads{begun: make(chan chan int)}
		first := h.callers(t, 1)
		running := <-h.begun
		more := h.callers(t, 100)
		select {
		case <-h.begun:
			t.Fatal("two reads run at once")
		default:
		}
		running <- 1
		wantEach(t, first(), 1)
		(<-h.begun) <- 2
		wantEach(t, more(), 2)
		last := h.callers(t, 1)
		(<-h.begun) <- 3
		wantEach(t, last(), 3)
		if len(h.running)+len(h.waiting) != 0 {
			t.Errorf("%d reads run and %d wait after the last", len(h.running), len(h.waiting))
		}
	})
}

// TestASharedReadThatFails checks that all callers that share a failed read get its error. Callers
// that come later do not.
func TestASharedReadThatFails(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		h := &heldReads{begun: make(chan chan int)}
		first := h.callers(t, 1)
		running := <-h.begun
		failed := h.callers(t, 3)
		running <- 1
		wantEach(t, first(), 1)
		(<-h.begun) <- -1
		wantEach(t, failed(), -1)
		later := h.callers(t, 1)
		(<-h.begun) <- 5
		wantEach(t, later(), 5)
	})
}

// TestASharedReadThatPanics checks that all callers that share a read get an internal error if the
// read panics. The message of the error does not contain the stack. The next caller reads again.
func TestASharedReadThatPanics(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var reads Reads[string, int]
		release := make(chan bool)
		get := func() (int, error) {
			return reads.Get(t.Context(), "key", func(context.Context) (int, error) {
				if <-release {
					panic("a row that cannot be")
				}
				return 7, nil
			})
		}
		failed := make(chan error)
		call := func() { _, err := get(); failed <- err }
		go call()
		synctest.Wait() // its read runs now, so the next two calls share another read
		go call()
		go call()
		synctest.Wait()
		release <- true
		release <- true // the read that the other two share
		for range 3 {
			var failure *perdure.Error
			if err := <-failed; !errors.As(err, &failure) || failure.Code != perdure.Internal || strings.Contains(failure.Message, "goroutine") {
				t.Errorf("a read that panics returns %v", err)
			}
		}
		go func() { release <- false }()
		if n, err := get(); n != 7 || err != nil {
			t.Errorf("the read after it returned %d, %v", n, err)
		}
	})
}

// TestACallerThatEndsLeavesTheRead checks that a call returns when its context ends, while its read
// continues. Later calls wait for the end of this read, and then share the next one.
func TestACallerThatEndsLeavesTheRead(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		h := &heldReads{begun: make(chan chan int)}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := h.one(ctx)
			ended <- err
		}()
		first := <-h.begun
		others := h.callers(t, 2)
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("who gave up got %v", err)
		}
		first <- 1
		(<-h.begun) <- 2
		wantEach(t, others(), 2)
	})
}
