package lookup

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// awayText returns a text if a LOCAL run waits for the worker that holds its content; otherwise "".
func awayText(x *perdure.Execution) string {
	if x.Away == nil {
		return ""
	}
	since := "which is not connected"
	if x.Away.Since != nil {
		since += " since " + x.Away.Since.Local().Format(terminal.TimeFormat)
	}
	return fmt.Sprintf("the run waits for its worker: its content is on worker %s, %s; start that worker again", x.Away.WorkerID, since)
}

// printAway prints awayText on standard error.
func printAway(a *setup.App, x *perdure.Execution) {
	if text := awayText(x); text != "" {
		fmt.Fprintln(a.Stderr, "perdure: "+text)
	}
}

// waitedFeatures returns the names of the features that the worker of a PENDING run must support; ""
// if it needs none.
func waitedFeatures(x *perdure.Execution) string {
	if x.Status != perdure.StatusPending {
		return ""
	}
	return strings.Join(x.NeedsFeatures.Names(), ", ")
}

// PrintPending prints why a run is PENDING. fresh reports that the command follows the run from its
// start. untaken reports that it has seen no event of a worker.
func PrintPending(ctx context.Context, a *setup.App, c *client.Client, x *perdure.Execution, fresh, untaken bool) {
	h := queueHold(ctx, a, c, x)
	switch {
	case x.Away != nil:
		printAway(a, x)
	case h != hold{}:
		printHold(a, h)
	case untaken && x.NeedsFeatures != 0:
		fmt.Fprintf(a.Stderr, "perdure: no worker has taken the run yet; it needs one with %s\n", waitedFeatures(x))
	case fresh:
		fmt.Fprintf(a.Stderr, "perdure: no worker has taken the run yet; perdure worker starts one\n")
	}
}

// failedTurn is the status of a conversation whose newest turn has failed.
const failedTurn = "failed turn"

// reasonText returns why a run or its newest turn has failed, as one line; "" for other runs.
func reasonText(x *perdure.Execution) string {
	text := x.TurnError
	if x.Status == perdure.StatusFailed && x.Error != nil {
		text = *x.Error
	}
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// StatusWord returns the status of a run in the words of the web page (web/app/fold/status.ts).
// docs/vocabulary.md lists them.
func StatusWord(x *perdure.Execution) string {
	switch x.Status {
	case perdure.StatusPending:
		return "queued"
	case perdure.StatusRunning:
		return "working"
	case perdure.StatusWaiting:
		return waitWord(x)
	}
	return strings.ToLower(string(x.Status))
}

// waitWord returns the word for a WAITING run. A run that waits for its own tasks works.
func waitWord(x *perdure.Execution) string {
	switch x.WaitReason {
	case WaitsForQuestion:
		return "asks"
	case waitsForTimer:
		return "sleeping"
	case WaitsForSignal, "":
	default:
		return "working"
	}
	if x.Kind == perdure.ReactKind {
		if x.TurnFailed() {
			return failedTurn
		}
		return "your turn"
	}
	if x.Wait != nil {
		if names := x.Wait.Signals(); len(names) == 1 {
			return "waits for " + terminal.Cut(terminal.Inline(names[0]), maxWaitName)
		}
	}
	return "waits for a signal"
}

// maxWaitName is the maximum width of the name of a signal in a status.
const maxWaitName = 24

// StatusText returns the status of a run in words, and what it needs to continue.
func StatusText(x *perdure.Execution) string { return heldStatus(x, hold{}) }

// heldStatus is like StatusText, but also tells the hold h that keeps the run from being taken. A hold
// replaces the features that the run needs of a worker, because no worker could take the run.
func heldStatus(x *perdure.Execution, h hold) string {
	text := StatusWord(x)
	if x.OpenQuestions > 1 || x.OpenQuestions == 1 && x.WaitReason != WaitsForQuestion {
		text += fmt.Sprintf(" (%d open questions)", x.OpenQuestions)
	}
	if x.Away != nil {
		text += " (worker away)"
	}
	if h.word != "" {
		text += " (" + h.word + ")"
	} else if names := waitedFeatures(x); names != "" {
		text += " (needs a worker with " + names + ")"
	}
	return text
}

// statusStyle returns the style of a status. A status that needs a person is highlighted.
func statusStyle(text string) terminal.Style {
	word, _, _ := strings.Cut(text, " ")
	switch word {
	case "completed":
		return terminal.StyleGood
	case "failed": // also a failed turn
		return terminal.StyleError
	case "queued", "working":
		return terminal.StyleTool
	case "asks", "your", "waits":
		return terminal.StyleWarn
	}
	return terminal.StyleDim
}

// TitleMember is the member of a run's metadata with its title for lists.
const TitleMember = "title"

// Title returns the title in a run's metadata, or else the server's title.
func Title(x *perdure.Execution) string {
	var metadata map[string]any
	if json.Unmarshal(x.Metadata, &metadata) == nil {
		if title, _ := metadata[TitleMember].(string); title != "" {
			return title
		}
	}
	return x.Title
}

// PrintIdle prints how to continue an unfinished run.
func PrintIdle(ctx context.Context, a *setup.App, conn *connection.Conn, x *perdure.Execution) {
	if !conn.Offline() {
		printAway(a, x)
		printHold(a, queueHold(ctx, a, conn.Client, x))
	}
	if conn.Offline() && !x.Status.Terminal() && x.WaitReason != WaitsForSignal && x.WaitReason != WaitsForQuestion {
		_ = a.Stderr.Linef("perdure: nothing runs it now; perdure resume %s%s goes on with it", x.ID, a.ServerFlags)
	}
}
