package lookup

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection/connectiontest"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// TestStatusNamesFeatures checks that the status of a run says which features it waits for, and only
// while it is PENDING.
func TestStatusNamesFeatures(t *testing.T) {
	for want, x := range map[string]perdure.Execution{
		"queued":                                 {Status: perdure.StatusPending},
		"queued (needs a worker with context/1)": {Status: perdure.StatusPending, NeedsFeatures: perdure.FeatureContext},
		"working":                                {Status: perdure.StatusRunning, NeedsFeatures: perdure.FeatureContext},
	} {
		if got := StatusText(&x); got != want {
			t.Errorf("the status is %q, want %q", got, want)
		}
	}
}

// TestStatusesHaveTheWordsOfThePage checks that a status has the word that the web page shows.
func TestStatusesHaveTheWordsOfThePage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "web", "app", "fold", "status.ts"))
	if err != nil {
		t.Fatal(err)
	}
	signal, two := perdure.WaitSignal("paid"), perdure.WaitAny(perdure.WaitSignal("paid"), perdure.WaitSignal("sent"))
	for want, x := range map[string]perdure.Execution{
		"your turn":          {Kind: perdure.ReactKind, Status: perdure.StatusWaiting, WaitReason: "signal", Wait: &signal},
		"waits for paid":     {Kind: "order", Status: perdure.StatusWaiting, WaitReason: "signal", Wait: &signal},
		"waits for a signal": {Kind: "order", Status: perdure.StatusWaiting, WaitReason: "signal", Wait: &two},
		"asks":               {Status: perdure.StatusWaiting, WaitReason: "question", OpenQuestions: 1},
		"sleeping":           {Status: perdure.StatusWaiting, WaitReason: "timer"},
		"working":            {Status: perdure.StatusWaiting, WaitReason: "task"},
		"cancelling":         {Status: perdure.StatusCancelling},
		"completed":          {Status: perdure.StatusCompleted},
	} {
		if got := StatusText(&x); got != want {
			t.Errorf("the status of %+v is %q, want %q", x, got, want)
		}
		label := strings.TrimSuffix(strings.TrimSuffix(want, "paid"), "a signal")
		if label = strings.ToUpper(label[:1]) + label[1:]; !strings.Contains(string(page), label) {
			t.Errorf("the page has no label %q", label)
		}
	}
}

// TestAPausedQueueIsSaidBeforeFeatures checks what a list says about a run whose queue is paused:
// that the queue is paused, and not which features its worker needs. queueHolds reads the queues
// once for all runs of the list.
func TestAPausedQueueIsSaidBeforeFeatures(t *testing.T) {
	reads := 0
	c := connectiontest.Answering(t, func(*http.Request) any {
		reads++
		return map[string]any{"items": []any{map[string]any{"name": "stopped", "paused": true}, map[string]any{"name": "served", "served": true}}}
	})
	on := func(queue string, s perdure.Status) *perdure.Execution {
		return &perdure.Execution{Status: s, Queue: queue, NeedsFeatures: perdure.FeatureContext}
	}
	runs := []*perdure.Execution{on("stopped", perdure.StatusPending), on("none", perdure.StatusPending), on("served", perdure.StatusPending), on("stopped", perdure.StatusRunning)}
	a := &setup.App{}
	h := queueHolds(t.Context(), a, c, runs)
	var got []string
	for _, x := range runs {
		got = append(got, heldStatus(x, h.of(x)))
	}
	if want := []string{"queued (queue paused)", "queued (no worker)", "queued (needs a worker with context/1)", "working"}; !slices.Equal(got, want) || reads != 1 {
		t.Errorf("the statuses are %q after %d reads, want %q", got, reads, want)
	}
	if text := h.of(runs[1]).text(); text != "no worker serves the queue none; perdure worker --queue none starts one" {
		t.Errorf("the hold is %q", text)
	}
	if queueHolds(t.Context(), a, c, runs[3:]); reads != 1 {
		t.Error("the queues are read for a run that works")
	}
}

// TestRunsShowFailures checks the status of a failed turn, and that each run is one line in a pipe, with
// the reason of a failure at its end.
func TestRunsShowFailures(t *testing.T) {
	wait := perdure.WaitAny(perdure.WaitSignal(perdure.UserMessage), perdure.WaitSignal(perdure.RetrySignal))
	why := "the tool failed\nat all"
	var out strings.Builder
	a := &setup.App{Streams: terminal.Streams{Stdout: terminal.NewScreen(&out)}}
	err := printRuns(a, client.Page[*perdure.Execution]{Items: []*perdure.Execution{
		{Kind: perdure.ReactKind, Status: perdure.StatusWaiting, WaitReason: "signal", Wait: &wait, TurnError: "auth: no key", Title: "one"},
		{Kind: "import", Status: perdure.StatusWaiting, WaitReason: "signal", Wait: &wait, Title: "two"},
		{Kind: "import", Status: perdure.StatusFailed, Error: &why, Title: "three"},
	}}, holds{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.Join(strings.Fields(strings.ReplaceAll(line, uuid.Nil.String(), "ID")), " "))
	}
	at := perdure.Time{}.Local().Format(terminal.TimeFormat)
	want := []string{
		"ID STATUS KIND STARTED TOOK TITLE REASON",
		"ID failed turn react-agent " + at + " - one auth: no key",
		"ID waits for a signal import " + at + " - two",
		"ID failed import " + at + " - three the tool failed",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the list is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
