package ws

import (
	"testing"

	"github.com/perdure/perdure"
	eventlog "github.com/perdure/perdure/internal/log"
)

// TestPagesGivenAreForgotten checks that sentPages drops a page that a newer page covers. The
// method passed drops the pages whose events cannot occur again after the given log position.
func TestPagesGivenAreForgotten(t *testing.T) {
	var g sentPages
	item := func(seq, pos int64) eventlog.Item {
		return eventlog.Item{Seq: seq, Cursor: perdure.Cursor{Pos: pos}}
	}
	for pos := int64(100); pos < 1100; pos++ {
		g.add(sentPage{1, 50, pos})
		g.add(sentPage{20, 30, pos})
	}
	if len(g) != 1 || !g.know(item(50, 1099)) || g.know(item(50, 1100)) || g.know(item(51, 500)) {
		t.Errorf("%d pages are remembered: %v", len(g), g)
	}
	g.add(sentPage{60, 70, 2000})
	g.passed(1500)
	if len(g) != 1 || !g.know(item(65, 1999)) || g.know(item(1, 1)) {
		t.Errorf("behind the position there is %v", g)
	}
	g.passed(2000)
	if len(g) != 0 {
		t.Errorf("at the end there is %v", g)
	}
}
