package durablestream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/opentest"
	"github.com/perdure/perdure/internal/store/storetest"
)

// TestProducerIsAdmitted checks which appends of a producer are accepted. Only the producer's epoch
// and seq matter.
func TestProducerIsAdmitted(t *testing.T) {
	last := &store.StreamProducer{ID: "p", Epoch: 3, Seq: 7}
	for _, c := range []struct {
		last       *store.StreamProducer
		epoch, seq int64
		known      bool
		status     int // HTTP status of the refusal
		headers    map[string]string
	}{
		{nil, 0, 0, false, 0, nil},
		{nil, 5, 0, false, 0, nil},
		{nil, 0, 1, false, 409, map[string]string{headerExpected: "0", headerReceived: "1"}},
		{last, 3, 8, false, 0, nil},
		{last, 3, 7, true, 0, nil},
		{last, 3, 0, true, 0, nil},
		{last, 3, 9, false, 409, map[string]string{headerExpected: "8", headerReceived: "9"}},
		{last, 2, 8, false, 403, map[string]string{headerEpoch: "3"}},
		{last, 4, 0, false, 0, nil},
		{last, 4, 8, false, 400, nil},
	} {
		known, err := admit(c.last, store.StreamProducer{ID: "p", Epoch: c.epoch, Seq: c.seq})
		status, headers := 0, map[string]string(nil)
		var refusal *Refusal
		if errors.As(err, &refusal) {
			status, headers = refusal.Status, refusal.Header
		} else if perdure.IsCode(err, perdure.InvalidArgument) {
			status = 400
		}
		if known != c.known || status != c.status || !maps.Equal(headers, c.headers) {
			t.Errorf("%d/%d after %v: %v %v", c.epoch, c.seq, c.last, known, err)
		}
	}
}

// writer is a producer that does not know whether its appends were stored, and repeats each one
// until it gets a response.
type writer struct {
	*Streams
	name   string
	epoch  int64
	closes bool // closes the stream with its last append
}

func (w *writer) write(ctx context.Context, n int) error {
	for seq := range n {
		a := addition{
			path: "s", contentType: asText, rows: [][]byte{fmt.Appendf(nil, "%s%d.%d ", w.name, w.epoch, seq)},
			producer: &store.StreamProducer{ID: w.name, Epoch: w.epoch, Seq: int64(seq)}, closes: w.closes && seq == n-1,
		}
		o, err := w.append(ctx, "acme", a)
		for perdure.IsCode(err, perdure.Unavailable) {
			o, err = w.append(ctx, "acme", a)
		}
		if err != nil {
			return err
		}
		if *o.producer != *a.producer || o.stream.Closed != a.closes {
			return fmt.Errorf("append %d of %s is answered %+v", seq, w.name, o)
		}
	}
	return nil
}

// TestAppendOfUnknownOutcomeIsStoredOnce checks that appends are stored once and in order, even if
// commits fail or their replies are lost. The producers repeat each append until they get a response.
// One append also closes the stream.
func TestAppendOfUnknownOutcomeIsStoredOnce(t *testing.T) {
	for seed := range uint64(4) {
		chance := rand.New(rand.NewPCG(seed, 1))
		faulty := &storetest.Faults{Store: opentest.Store(t), Plan: func(int, store.Command) storetest.Fault {
			return storetest.Fault(chance.IntN(4))
		}}
		s := New(faulty, &notify.Local{}, 0)
		made := creation{org: "acme", path: "s", contentType: asText, rows: [][]byte{[]byte("> ")}}
		for _, err := s.create(t.Context(), made); err != nil; _, err = s.create(t.Context(), made) {
			if !perdure.IsCode(err, perdure.Unavailable) {
				t.Fatal(err)
			}
		}
		const writers, each = 3, 5
		done := make(chan error, writers)
		for i := range writers {
			w := &writer{Streams: s, name: string(rune('a' + i))}
			go func() {
				err := w.write(t.Context(), each)
				w.epoch++
				done <- errors.Join(err, w.write(t.Context(), each))
			}()
		}
		for range writers {
			if err := <-done; err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		if err := (&writer{Streams: s, name: "z", closes: true}).write(t.Context(), 3); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		checkAppends(t, seed, s, writers, each)
	}
}

// checkAppends checks that each append is stored once, and that the appends of each producer are in
// order.
func checkAppends(t *testing.T, seed uint64, s *Streams, writers, each int) {
	t.Helper()
	x, err := s.store.Stream(t.Context(), "acme", "s")
	if err != nil {
		t.Fatal(err)
	}
	p, err := (&generalStream{s, x}).Page(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	got := map[byte][]string{}
	for _, word := range strings.Fields(string(p.Content)) {
		got[word[0]] = append(got[word[0]], word)
	}
	want := map[byte][]string{'>': {">"}, 'z': {"z0.0", "z0.1", "z0.2"}}
	for w := range writers {
		for n := range 2 * each {
			name := byte('a' + w)
			want[name] = append(want[name], fmt.Sprintf("%c%d.%d", name, n/each, n%each))
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || !p.Closed {
		t.Errorf("seed %d: the stream holds %v, want %v; closed: %v", seed, got, want, p.Closed)
	}
}
