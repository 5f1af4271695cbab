package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/perdure/perdure"
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
	return fmt.Sprintf("%s: its content is on worker %s, %s; start that worker again", x.Status, x.Away.WorkerID, since)
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

func statusText(x *perdure.Execution) string {
	text := strings.ToLower(string(x.Status))
	if x.TurnFailed() {
		text = failedTurn
	} else if x.Status == perdure.StatusWaiting && x.WaitReason != "" {
		text += " (" + x.WaitReason + ")"
	}
	if x.OpenQuestions > 1 || x.OpenQuestions == 1 && x.WaitReason != waitsForQuestion {
		text += fmt.Sprintf(" (%d open questions)", x.OpenQuestions)
	}
	if x.Away != nil {
		text += " (worker away)"
	}
	if names := waitedFeatures(x); names != "" {
		text += " (needs a worker with " + names + ")"
	}
	return text
}

// statusStyle returns the style of a status. A status that needs a person is highlighted.
func statusStyle(text string) terminal.Style {
	if strings.HasPrefix(text, failedTurn) {
		return terminal.StyleError
	}
	word, _, _ := strings.Cut(text, " ")
	switch perdure.Status(strings.ToUpper(word)) {
	case perdure.StatusCompleted:
		return terminal.StyleGood
	case perdure.StatusFailed:
		return terminal.StyleError
	case perdure.StatusRunning, perdure.StatusPending:
		return terminal.StyleTool
	case perdure.StatusWaiting:
		return terminal.StyleWarn
	}
	return terminal.StyleDim
}

// titleText returns the title in a run's metadata, or else the server's title.
func titleText(x *perdure.Execution) string {
	var metadata map[string]any
	if json.Unmarshal(x.Metadata, &metadata) == nil {
		if title, _ := metadata[titleMember].(string); title != "" {
			return title
		}
	}
	return x.Title
}

// printIdle prints how to continue an unfinished run.
func printIdle(ctx context.Context, a *setup.App, conn *connection.Conn, x *perdure.Execution) {
	if !conn.Offline() {
		printAway(a, x)
		if hold := queueHold(ctx, a, conn.Client, x); hold != "" {
			_ = a.Stderr.Linef("perdure: %s", hold)
		}
	}
	if conn.Offline() && !x.Status.Terminal() && x.WaitReason != waitsForSignal && x.WaitReason != waitsForQuestion {
		_ = a.Stderr.Linef("perdure: nothing runs it now; perdure resume %s%s goes on with it", x.ID, a.ServerFlags)
	}
}

// printExecution prints one execution as JSON, or calls plain.
func printExecution(a *setup.App, x *perdure.Execution, plain func()) error {
	if a.JSON {
		return a.Stdout.PrintJSON(x)
	}
	plain()
	return nil
}
