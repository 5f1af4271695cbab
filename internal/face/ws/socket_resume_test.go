package ws_test

import (
	"fmt"
	"testing"
)

// TestWebSocketAfterACutInsideABlock checks a client that is disconnected inside two blocks and
// then asks for the events after its newest seq. It first receives both blocks as snapshots,
// whether they are still open or closed.
func TestWebSocketAfterACutInsideABlock(t *testing.T) {
	for _, closed := range []bool{false, true} {
		h := open(t)
		x := h.Start("")
		r := h.Claim()
		r.Stream(0, 0, "token", "Größe ")
		r.Stream(1, 0, "terminal", "$ l")
		r.Say(userText("hi"))
		c := h.Socket(x.ID)
		c.Load(`{"after_seq":0,"limit":1000}`)
		newest := int64(0)
		for seq := range c.Events {
			newest = max(newest, seq)
		}
		for seq := range c.Text {
			newest = max(newest, seq)
		}
		_ = c.Conn.CloseNow()
		r.Stream(0, 8, "token", "und Länge")
		r.Stream(1, 3, "terminal", "s\n")
		if closed {
			r.Append(frame{AgentLease: &r.Lease, Block: 0, Type: "token", Offset: 18, Close: true})
			r.Append(frame{AgentLease: &r.Lease, Block: 1, Type: "terminal", Stream: "stdout", Offset: 5, Close: true})
		}
		again := h.Socket(x.ID)
		again.Events, again.Text, again.First = c.Events, c.Text, c.First
		m := again.Load(fmt.Sprintf(`{"after_seq":%d,"limit":1}`, newest))
		if len(m.Data.Events) < 2 || m.Data.Events[0].Event != "snapshot" || m.Data.Events[1].Event != "snapshot" {
			t.Fatalf("closed %v: the page after %d is %+v", closed, newest, m.Data)
		}
		if wantFirst := map[bool]int64{true: newest + 1}[closed]; m.Data.FirstSeq != wantFirst {
			t.Errorf("closed %v: the page begins at %d", closed, m.Data.FirstSeq)
		}
		for m.Data.HasMore {
			m = again.Load(fmt.Sprintf(`{"after_seq":%d,"limit":1}`, m.Data.LastSeq))
		}
		if !closed {
			r.Stream(0, 18, "token", "!")
		}
		r.Complete()
		again.ToEnd()
		if got, want := again.Picture(), h.StreamedPicture(x.ID); got != want {
			t.Errorf("closed %v: got\n%s\nwant\n%s", closed, got, want)
		}
	}
}
