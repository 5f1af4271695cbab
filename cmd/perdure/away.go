package main

import (
	"encoding/json"
	"fmt"

	"github.com/perdure/perdure"
)

// awayText returns a text if a LOCAL run waits for the worker that holds its content; otherwise "".
func awayText(x *perdure.Execution) string {
	if x.Away == nil {
		return ""
	}
	since := "which is not connected"
	if x.Away.Since != nil {
		since += " since " + x.Away.Since.Local().Format(shortTime)
	}
	return fmt.Sprintf("%s: its content is on worker %s, %s; start that worker again", x.Status, x.Away.WorkerID, since)
}

// tellAway prints awayText on standard error.
func tellAway(a *app, x *perdure.Execution) {
	if text := awayText(x); text != "" {
		fmt.Fprintln(a.stderr, "perdure: "+text)
	}
}

// onWorkerText replaces a content that the server does not have and cannot read from its worker
// now.
const onWorkerText = "(content on worker)"

// onWorker reports whether a content was omitted because it is on a worker.
func onWorker(content json.RawMessage) bool {
	switch string(content) {
	case "", "null", `"worker"`:
		return true
	}
	return false
}
