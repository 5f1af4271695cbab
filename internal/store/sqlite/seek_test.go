package sqlite

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// TestEventsAreFoundByTheirSeq checks that Events returns the events of a range of seqs. The log has
// gaps between positions, seqs without an event, and no events at its start.
func TestEventsAreFoundByTheirSeq(t *testing.T) {
	for name, gap := range map[string]func(r *rand.Rand) int64{
		"no text":               func(*rand.Rand) int64 { return 0 },
		"some text":             func(r *rand.Rand) int64 { return r.Int64N(3) },
		"much text here, there": func(r *rand.Rand) int64 { return max(0, r.Int64N(2000)-1980) * 50 },
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			s := open(t, Options{})
			id := uuid.New()
			if err := begin(t, s, id, nil); err != nil {
				t.Fatal(err)
			}
			seqs, last := appendEvents(t, s, id, r, gap)
			check := func(from int64) {
				for after := range last + 2 {
					upTo := after + r.Int64N(12)
					var want []int64
					for _, seq := range seqs {
						if seq > after && seq <= upTo && seq >= from {
							want = append(want, seq)
						}
					}
					if got := eventSeqs(t, s, id, after, upTo); !slices.Equal(got, want) {
						t.Fatalf("the events after %d up to %d are %v, want %v", after, upTo, got, want)
					}
				}
			}
			check(0)
			cut := seqs[len(seqs)/3]
			v := s.committer.conn.With(t.Context())
			must(t, v, "DELETE FROM log_record WHERE seq < ?", cut)
			check(cut)
		})
	}
}

// appendEvents writes events with gaps between their positions, as chunks leave them. It skips some
// seqs, as blocks do.
func appendEvents(t *testing.T, s *Store, id uuid.UUID, r *rand.Rand, gap func(*rand.Rand) int64) (seqs []int64, last int64) {
	t.Helper()
	err := do(t, s, id, func(st *store.State) (*store.Changes, error) {
		ch := &store.Changes{Head: &st.Head}
		for range 60 {
			st.Head.LastPos += 1 + gap(r)
			st.Head.LastSeq++
			if gap(r) > 1 {
				continue
			}
			seqs = append(seqs, st.Head.LastSeq)
			ch.Records = append(ch.Records, perdure.Record{
				Pos: st.Head.LastPos, Seq: st.Head.LastSeq, Type: perdure.EventError, CreatedAt: st.Now, Fields: fmt.Appendf(nil, `{"n":%d}`, st.Head.LastSeq),
			})
		}
		last = st.Head.LastSeq
		return ch, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return seqs, last
}

func eventSeqs(t *testing.T, s *Store, id uuid.UUID, after, upTo int64) (seqs []int64) {
	t.Helper()
	events, _, err := s.Events(t.Context(), id, after, upTo)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		seqs = append(seqs, e.Seq)
	}
	return seqs
}

// TestSeqsRise checks that a command fails and writes nothing if its events' seqs do not increase.
func TestSeqsRise(t *testing.T) {
	s := open(t, Options{})
	id := uuid.New()
	if err := begin(t, s, id, nil); err != nil {
		t.Fatal(err)
	}
	write := func(seqs ...int64) error {
		return do(t, s, id, func(st *store.State) (*store.Changes, error) {
			ch := &store.Changes{Head: &st.Head}
			for _, seq := range seqs {
				st.Head.LastPos++
				st.Head.LastSeq = max(st.Head.LastSeq, seq)
				ch.Records = append(ch.Records, perdure.Record{Pos: st.Head.LastPos, Seq: seq, Type: perdure.EventError, CreatedAt: st.Now})
			}
			return ch, nil
		})
	}
	if err := write(1, 2, 3); err != nil {
		t.Fatal(err)
	}
	for _, seqs := range [][]int64{{3}, {2, 4}, {4, 4}, {5, 4}} {
		if err := write(seqs...); err == nil {
			t.Errorf("events with the seqs %v are written after 3", seqs)
		}
	}
	if err := write(4, 5); err != nil {
		t.Error(err)
	}
	if got := eventSeqs(t, s, id, 0, 9); !slices.Equal(got, []int64{1, 2, 3, 4, 5}) {
		t.Errorf("the log has the events %v", got)
	}
}
