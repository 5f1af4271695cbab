// Package logtest tests one property of every projection of a log, that is, of every way to read
// it. If a client is disconnected anywhere and resumes, what it has received equals an
// uninterrupted reading. The projections are clients that use only the wire protocol, so they can
// read from any implementation of the server. The suite runs them on every store.
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
	// Read yields the events that follow those in held, in order, until the log ends. held are the
	// events that the client has already received. An interruption is an error.
	Read(ctx context.Context, held []Event) iter.Seq2[Event, error]
	// Show returns the content that a client builds from the events, for a byte-for-byte
	// comparison.
	Show(given []Event) string
}

// fault marks an error that only the server can have caused. Other errors can be the effect of an
// interrupted connection.
type fault struct{ error }

func faultf(format string, args ...any) error { return fault{fmt.Errorf(format, args...)} }

// IsFault reports whether an error of a reader is the server's fault, so that a retry is useless.
func IsFault(err error) bool { return errors.As(err, &fault{}) }

// Whole reads all of a log.
func Whole(ctx context.Context, p Projection) ([]Event, error) { return readOn(ctx, p, nil) }

// readOn returns all events that follow those in held.
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

// CutEverywhere checks readings that are cut and resumed. The parameter whole contains the events
// of the uninterrupted reading. The cuts are before its first event, after its last event, and
// after every step-th event from the number first on. If first and step are 1, every event is
// followed by a cut. A resumed reading may be served by another server.
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
// received events. After each error err it calls again(err). If that returns an error, Wander
// returns it; otherwise Wander continues to read.
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
