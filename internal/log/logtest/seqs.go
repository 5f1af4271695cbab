package logtest

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/perdure/perdure"
)

// checkDense checks the seqs of the events of an unfiltered stream. Each seq is the greatest one
// before it plus one, or the seq of an open block.
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

// checkPositions checks that the position in the cursor of each event is after the previous one.
// Only a ping and the event "end" may have the same position as the event before.
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

// checkFiltered checks that the parameter some, the events of a filtered stream, contains only
// events from the parameter all, the events of the whole log. It also checks that each event names
// the last omitted seq and the last sent seq before it.
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
