package logtest

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/perdure/perdure"
)

// checkDense reports whether seqs count what the stream of everything gives: each
// is the one after the last, or that of a block that is open.
func checkDense(all []Event) error {
	last := int64(0)
	for _, e := range all {
		if e.Name == "ping" || e.Name == "end" {
			continue
		}
		p := pieceOf(e)
		if p.Seq != last+1 && (p.Seq > last || !p.chunk || p.Offset == 0) {
			return fmt.Errorf("after seq %d comes %s", last, e)
		}
		last = max(last, p.Seq)
	}
	return nil
}

// checkPositions reports whether every event that has a cursor, pings as well, is
// further than the one before it; end is where the last one was.
func checkPositions(events []Event) error {
	last := int64(-1)
	for _, e := range events {
		c, err := perdure.ParseCursor(e.ID)
		if err != nil {
			return fmt.Errorf("%s: %w", e, err)
		}
		if c.Pos < last || c.Pos == last && e.Name != "end" && e.Name != "ping" {
			return fmt.Errorf("after position %d comes %s", last, e)
		}
		last = c.Pos
	}
	return nil
}

// checkFiltered reports whether a filtered stream is a part of all, and each event
// of it says what was left out and what was given before.
func checkFiltered(all, some []Event) error {
	some = unpinged(some)
	spared, shown := int64(0), int64(0)
	for _, e := range unpinged(all) {
		p := pieceOf(e)
		if len(some) == 0 || some[0].ID != e.ID || some[0].Name != e.Name {
			spared = max(spared, p.Seq)
			continue
		}
		var said struct{ Seq, PrevSeq, PrevShown int64 }
		if err := json.Unmarshal([]byte(some[0].Data), &said); err != nil {
			return err
		}
		if e.Name != "end" && (said.Seq != p.Seq || said.PrevSeq != spared || said.PrevShown != shown) {
			return fmt.Errorf("left out up to %d, given up to %d, and it says %s", spared, shown, some[0])
		}
		shown, some = max(shown, p.Seq), some[1:]
	}
	if len(some) > 0 {
		return errors.New("what the log does not have: " + some[0].String())
	}
	return nil
}
