package local

import (
	"crypto/sha256"
	"testing"

	"github.com/perdure/perdure"
)

// TestFramesCarryTheirBlocksHash checks that each frame (a chunk of a block) that the server
// receives contains the hash of its block's text up to the end of the frame, even if frames are
// repeated. The caller's frames are not modified.
func TestFramesCarryTheirBlocksHash(t *testing.T) {
	c := newDispatchTest(t, perdure.Local)
	frame := func(at int64, text string) perdure.Frame {
		return perdure.Frame{AgentLease: &c.lease, Type: perdure.EventToken, Offset: at, Text: text}
	}
	sent := []perdure.Frame{frame(0, "one "), frame(4, "two "), frame(8, "three")}
	for range 2 {
		c.r.frames = nil
		if _, err := c.d.Append(t.Context(), sent); err != nil {
			t.Fatal(err)
		}
		for i, whole := range []string{"one ", "one two ", "one two three"} {
			if got := c.r.frames[i].Sum; got != sha256.Sum256([]byte(whole)) {
				t.Errorf("frame %d goes with %s, want the hash of %q", i, got, whole)
			}
		}
	}
	if sent[0].Sum != (perdure.Hash{}) {
		t.Error("the caller's frame was changed")
	}
}
