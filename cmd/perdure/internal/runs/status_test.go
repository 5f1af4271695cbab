package runs

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// TestStatusNamesFeatures checks that the status of a run says which features it waits for, and only
// while it is PENDING.
func TestStatusNamesFeatures(t *testing.T) {
	for want, x := range map[string]perdure.Execution{
		"pending": {Status: perdure.StatusPending},
		"pending (needs a worker with context/1)": {Status: perdure.StatusPending, NeedsFeatures: perdure.FeatureContext},
		"running": {Status: perdure.StatusRunning, NeedsFeatures: perdure.FeatureContext},
	} {
		if got := statusText(&x); got != want {
			t.Errorf("the status is %q, want %q", got, want)
		}
	}
}

// TestRunsShowFailures checks the status of a failed turn, and that the reason of a failure is one
// line below its run.
func TestRunsShowFailures(t *testing.T) {
	wait := perdure.WaitAny(perdure.WaitSignal(perdure.UserMessage), perdure.WaitSignal(perdure.RetrySignal))
	why := "the tool failed\nat all"
	var out strings.Builder
	a := &setup.App{Streams: terminal.Streams{Stdout: terminal.NewScreen(&out)}}
	err := printRuns(a, client.Page[*perdure.Execution]{Items: []*perdure.Execution{
		{Kind: perdure.ReactKind, Status: perdure.StatusWaiting, WaitReason: "signal", Wait: &wait, TurnError: "auth: no key", Title: "one"},
		{Kind: "import", Status: perdure.StatusWaiting, WaitReason: "signal", Wait: &wait, Title: "two"},
		{Kind: "import", Status: perdure.StatusFailed, Error: &why, Title: "three"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.Join(strings.Fields(strings.ReplaceAll(line, uuid.Nil.String(), "ID")), " "))
	}
	at := perdure.Time{}.Local().Format(terminal.TimeFormat)
	want := []string{
		"ID STATUS KIND STARTED TOOK TITLE",
		"ID failed turn react-agent " + at + " - one", "auth: no key",
		"ID waiting (signal) import " + at + " - two",
		"ID failed import " + at + " - three", "the tool failed",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the list is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
