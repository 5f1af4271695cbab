package chaos

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm/scripted"
)

// Run contains all data of one execution after its end. The checks use only this data.
type Run struct {
	ID     string
	Script Script
	// OneShot runs end by themselves. Other runs are cancelled after they have answered everything.
	OneShot bool
	Status  perdure.Status
	// Messages is the path from root to leaf.
	Messages []perdure.Message
	// Log is the log as read at the end.
	Log []Event
	// Sent are the signals that clients sent, with each sender's in order.
	Sent []Sent
	// Calls are the model calls as the provider recorded them.
	Calls []scripted.Call
	// Effects are the lines that tools have written, with their counts.
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

// Sent is a signal that a client sent until it got an answer.
type Sent struct {
	Sender   int
	ID, Text string
	// Accepted is false if the answer was that the execution has ended.
	Accepted bool
}
