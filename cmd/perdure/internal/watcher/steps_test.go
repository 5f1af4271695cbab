package watcher

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/connection/connectiontest"
)

// TestStepsComeBetweenTheEvents checks that a recorded step is shown before the first event that is
// newer than the step, also if the list of steps has several pages or grows while the watcher reads
// it.
func TestStepsComeBetweenTheEvents(t *testing.T) {
	at := func(second int) perdure.Time { return perdure.At(time.Unix(int64(second), 0)) }
	item := func(name string, second int, step bool) any {
		return map[string]any{"kind": name, "step": step, "createdAt": at(second), "status": "COMPLETED"}
	}
	pages := map[string][]any{"": {item("a", 1, true), item("task", 2, false), item("b", 3, true)}, "2": {item("c", 5, true)}}
	maxSeq, reads := 3, 0
	conn := &connection.Conn{Client: connectiontest.Answering(t, func(r *http.Request) any {
		if !strings.HasSuffix(r.URL.Path, "/tasks") {
			return map[string]any{"maxSeq": maxSeq}
		}
		reads++
		cursor := r.URL.Query().Get("cursor")
		page := map[string]any{"items": pages[cursor]}
		if cursor == "" {
			page["nextCursor"] = "2"
		}
		return page
	})}
	feed := newStepFeed(conn, &perdure.Execution{MaxSeq: 3})
	next := func(seq int64, second int) (names string) {
		t.Helper()
		for {
			step, err := feed.before(t.Context(), seq, at(second))
			if err != nil {
				t.Fatal(err)
			}
			if step == nil {
				return names
			}
			names += step.Kind
		}
	}
	got := []string{next(1, 0), next(2, 2), next(3, 4)}
	pages["2"] = append(pages["2"], item("d", 6, true))
	maxSeq = 5
	got = append(got, next(4, 5), next(5, 9))
	if want := "[ a b c d]"; fmt.Sprint(got) != want || reads > 4 {
		t.Errorf("the steps are %v after %d reads, want %s", got, reads, want)
	}
	fresh := newStepFeed(conn, &perdure.Execution{MaxSeq: 5})
	if err := fresh.skip(t.Context()); err != nil {
		t.Fatal(err)
	}
	if step, err := fresh.before(t.Context(), 5, at(9)); step != nil || err != nil {
		t.Errorf("after a skip there is %v, %v", step, err)
	}
}
