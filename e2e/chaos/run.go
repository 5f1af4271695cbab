package chaos

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm/scripted"
)

// Run contains all data of one execution after its end. The checks use only this data.
type Run struct {
	ID     string
	Script Script
	// OneShot is set if the run ends by itself. All other runs are cancelled after they have answered
	// all messages.
	OneShot bool
	Status  perdure.Status
	// Messages is the conversation: the messages from the first one to the current leaf of the transcript.
	Messages []perdure.Message
	// Log has the events of the log, as read after the run has ended.
	Log []Event
	// Sent are the signals that clients sent. Those of one client are in the order of sending.
	Sent []Sent
	// Calls are the model calls as the provider recorded them.
	Calls []scripted.Call
	// Effects has the lines that the run's tools wrote to files, with the number of times that each line was
	// written.
	Effects map[string]int
}

// Event contains the members of an event that the checks use.
type Event struct {
	Seq    int64
	Type   perdure.EventType
	At     perdure.Time
	Task   string // id of the task
	Kind   string // kind of the task
	Call   string // the tool call's internal id
	Turn   string
	Signal string // id of the signal
}

// Sent is a signal of a client. The client repeats the request until the server responds.
type Sent struct {
	Sender   int
	ID, Text string
	// Accepted is false if the server refused the signal because the execution had ended.
	Accepted bool
}
