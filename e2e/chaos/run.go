package chaos

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm/scripted"
)

// Run is all that is known of one execution when everything is over. The checks
// are over this alone.
type Run struct {
	ID     string
	Script Script
	// OneShot runs end by themselves, others are cancelled once they have
	// answered everything.
	OneShot bool
	Status  perdure.Status
	// Messages is the path from root to leaf.
	Messages []perdure.Message
	// Log is the log as it is read at the end.
	Log []Event
	// Sent is what clients sent into it, each sender's in order.
	Sent []Sent
	// Calls are those of the model, as the provider noted them.
	Calls []scripted.Call
	// Effects are the lines that tools have left, and how often each.
	Effects map[string]int
}

// Event is an event of a log, as far as the checks look at it.
type Event struct {
	Seq    int64
	Type   perdure.EventType
	At     perdure.Time
	Task   string // id
	Kind   string // of the task
	Call   string // our id of the tool call
	Turn   string
	Signal string // id
}

// Sent is a signal that a client sent until it was answered.
type Sent struct {
	Sender   int
	ID, Text string
	// Accepted is false if the answer was that the execution has ended.
	Accepted bool
}
