// Package logtest tests all projections of a log. A projection is one way to read a log, such as an
// event stream or pages. If a client is disconnected anywhere and resumes, it must receive the same
// content as without an interruption. The clients use only the wire protocol. The tests run on
// every store.
package logtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Event is one event as a client received it.
type Event struct {
	// ID is the position from which a client resumes after the event; "" if the projection has no such
	// position.
	ID   string
	Name string
	Data string
}

func (e Event) String() string { return e.ID + " " + e.Name + " " + e.Data }

// Projection is one way to read a log.
type Projection interface {
	// Read yields the events that follow the already received events `held`, in order, until the
	// log ends. An interruption is an error.
	Read(ctx context.Context, held []Event) iter.Seq2[Event, error]
	// Show returns the content that a client builds from the events, for a byte-for-byte
	// comparison.
	Show(given []Event) string
}

// fault marks an error that only the server can have caused. Other errors can be the effect of an
// interrupted connection.
type fault struct{ error }

func faultf(format string, args ...any) error { return fault{fmt.Errorf(format, args...)} }

// IsFault reports whether an error of a reader is the server's fault. A retry is then useless.
func IsFault(err error) bool { return errors.As(err, &fault{}) }

// Whole reads all of a log.
func Whole(ctx context.Context, p Projection) ([]Event, error) { return readOn(ctx, p, nil) }

// readOn returns all events that follow the already received events `held`.
func readOn(ctx context.Context, p Projection, held []Event) ([]Event, error) {
	var rest []Event
	for e, err := range p.Read(ctx, held) {
		if err != nil {
			return rest, err
		}
		rest = append(rest, e)
	}
	return rest, nil
}

// CutEverywhere checks that readings that are cut and resumed have the same content as an
// uninterrupted one, whose events are `whole`. There is one reading for each cut: before the first
// event, after the last event, after the event with the number `first`, and after each `step`
// further events.
func CutEverywhere(t *testing.T, p Projection, whole []Event, first, step int) {
	t.Helper()
	want := p.Show(whole)
	for n := range len(whole) + 1 {
		if n > 0 && n < len(whole) && (n < first || (n-first)%step != 0) {
			continue
		}
		rest, err := readOn(t.Context(), p, whole[:n:n])
		if err != nil {
			t.Fatalf("cut after %d of %d events: %v", n, len(whole), err)
		}
		if slices.Equal(unpinged(rest), unpinged(whole[n:])) {
			continue // equal events have the same content
		}
		if got := p.Show(append(whole[:n:n], rest...)); got != want {
			t.Fatalf("cut after %d of %d events, at %s:\n%s", n, len(whole), lineOf(whole, n-1), difference(got, want))
		}
	}
}

// Wander reads a log to its end over a connection that breaks at random moments, and returns all
// received events. After each error of the connection, it calls the function `again` with the
// error. If `again` returns an error, Wander returns that error; otherwise it continues to read.
func Wander(ctx context.Context, p Projection, chance *rand.Rand, again func(error) error) ([]Event, error) {
	var held []Event
	for {
		left, over := 1+chance.IntN(40), true
		for e, err := range p.Read(ctx, held) {
			if err != nil {
				if err := again(err); err != nil {
					return held, err
				}
				over = false
				break
			}
			held = append(held, e)
			if left--; left == 0 {
				over = false
				break
			}
		}
		if over {
			return held, nil
		}
	}
}

func unpinged(events []Event) []Event {
	return slices.DeleteFunc(slices.Clone(events), func(e Event) bool { return e.Name == "ping" })
}

func lineOf(events []Event, n int) string {
	if n < 0 {
		return "the start"
	}
	return events[n].String()
}

// difference shows where two texts first differ.
func difference(got, want string) string {
	have, wanted := strings.Split(got, "\n"), strings.Split(want, "\n")
	n := 0
	for n < len(have) && n < len(wanted) && have[n] == wanted[n] {
		n++
	}
	near := func(lines []string) string {
		return strings.Join(lines[max(0, min(n-2, len(lines))):min(n+4, len(lines))], "\n")
	}
	return fmt.Sprintf("from line %d on it shows\n%s\nwant\n%s", n, near(have), near(wanted))
}
