package log_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bubble"
	eventlog "github.com/perdure/perdure/internal/log"
)

// TestReadersShareTheRendering checks that readers at the end of a log share the rendered bytes of
// a new record, even if the readers call Data at the same time. WithPrevious does not change these
// bytes.
func TestReadersShareTheRendering(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newMemoryLog()
		b.event(perdure.EventCreated, "{}")
		l := b.log()
		readers := make([]<-chan []eventlog.Item, 8)
		for i := range readers {
			readers[i] = live(t.Context(), l, eventlog.From{})
		}
		synctest.Wait()
		b.event(perdure.EventSignal, `{"signalName":"userMessage"}`)
		synctest.Wait()
		b.event(perdure.EventCompleted, "{}")
		data := make([][]byte, len(readers))
		var all sync.WaitGroup
		for i, r := range readers {
			item := (<-r)[1]
			all.Go(func() {
				if own := string(item.WithPrevious(7, 8).Data()); !strings.HasSuffix(own, `,"prevSeq":7,"prevShown":8}`) {
					t.Errorf("a filtered stream has %s", own)
				}
				data[i] = item.Data()
			})
		}
		all.Wait()
		for i, d := range data {
			if &d[0] != &data[0][0] || !strings.HasSuffix(string(d), `"signalName":"userMessage"}`) {
				t.Errorf("reader %d has its own rendering: %s", i, d)
			}
		}
	})
}
