package logtest

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/perdure/perdure"
)

// checkDense checks that the seqs of an unfiltered stream have no gaps. The seq of each event is
// the greatest seq before it plus one, or the seq of an open block.
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

// checkPositions checks that the cursor of each event has a position after that of the previous
// event. Only a ping and the event "end" may have the same position.
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

// checkFiltered checks that the events of a filtered stream, `some`, are events of the whole log,
// `all`. It also checks the numbers in each event: prevSeq is the last omitted seq before it, and
// prevShown the last sent seq.
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
