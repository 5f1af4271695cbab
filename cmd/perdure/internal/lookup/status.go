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

// awayText returns a remark if a LOCAL run waits for the worker that has the run's content; otherwise "".
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

// printAway prints the remark of awayText on standard error, if there is one.
func printAway(a *setup.App, x *perdure.Execution) {
	if text := awayText(x); text != "" {
		fmt.Fprintln(a.Stderr, "perdure: "+text)
	}
}

// waitedFeatures returns the features that a worker must support to execute a PENDING run, separated by
// commas; "" if the run needs none, or is not PENDING.
func waitedFeatures(x *perdure.Execution) string {
	if x.Status != perdure.StatusPending {
		return ""
	}
	return strings.Join(x.NeedsFeatures.Names(), ", ")
}

// PrintPending prints why a run is PENDING. The parameter `fresh` is set if the command follows the
// run from its start. The parameter `untaken` is set if the command has seen no event that a worker
// wrote.
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

// waitWord returns the word for the status of a WAITING run. If the run only waits for its own
// tasks, the word is "working".
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

// StatusText returns the status of a run in words, with what the run needs to continue.
func StatusText(x *perdure.Execution) string { return heldStatus(x, hold{}) }

// heldStatus is like StatusText, but if h keeps workers from claiming the run, the text says so. The text
// then leaves out the features that a worker must support, because even a worker with these features
// could not claim the run.
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

// statusStyle returns the style of a status text. It is highlighted if a person has to do something.
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

// TitleMember is the name of the member of a run's metadata that has the run's title.
const TitleMember = "title"

// Title returns the title of a run: the one in its metadata, or otherwise the one that the server has made.
func Title(x *perdure.Execution) string {
	var metadata map[string]any
	if json.Unmarshal(x.Metadata, &metadata) == nil {
		if title, _ := metadata[TitleMember].(string); title != "" {
			return title
		}
	}
	return x.Title
}

// PrintIdle prints why an unfinished run does not continue: its worker is not connected, no worker
// claims it, or no server runs. In the last case it also prints the command that continues the run.
func PrintIdle(ctx context.Context, a *setup.App, conn *connection.Conn, x *perdure.Execution) {
	if !conn.Offline() {
		printAway(a, x)
		printHold(a, queueHold(ctx, a, conn.Client, x))
	}
	if conn.Offline() && !x.Status.Terminal() && x.WaitReason != WaitsForSignal && x.WaitReason != WaitsForQuestion {
		_ = a.Stderr.Linef("perdure: nothing runs it now; perdure resume %s%s goes on with it", x.ID, a.ServerFlags)
	}
}
