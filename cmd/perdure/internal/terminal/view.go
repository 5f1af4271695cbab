package terminal

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// View shows a run to people or to programs.
type View interface {
	// Started shows the run that the command follows from now on.
	Started(x *perdure.Execution)
	// AddEntries tells the view which entries of the run already exist.
	AddEntries(entries []perdure.Entry)
	Event(e client.Event) error
	// UserMessage tells the view that the user has entered a message in this command.
	UserMessage(text string)
	// Prompt prompts the user for input.
	Prompt()
	// ConnectionLost reports that the stream broke and continues after the pause.
	ConnectionLost(cause error, pause time.Duration)
	// Result shows the state of the run at the end of the command.
	Result(r Result) error
}

// Result is the state of a run when a command leaves it.
type Result struct {
	ID         uuid.UUID          `json:"agentExecutionId"`
	Status     perdure.Status     `json:"status"`
	ExitCode   int                `json:"exitCode"`
	StopReason perdure.StopReason `json:"stopReason,omitempty"`
	Text       string             `json:"text"`
	// React reports that the run is a run of the react agent.
	React bool `json:"-"`
	// Word is the status for people; "" stands for the status itself.
	Word string `json:"-"`
	// Command is "show" if perdure show prints the result; "" for every other command.
	Command string `json:"-"`
	// Watchable reports that the run continues without the user, while a server is up.
	Watchable bool `json:"-"`
	// Next has the lines that say how to continue. If it is nil, the view chooses the lines.
	Next []string `json:"-"`
	// Repeat is the command that starts a run with the same input; "" if it is not known.
	Repeat string `json:"-"`
	// Local reports that the run is LOCAL. Its output may then be on its worker alone.
	Local bool `json:"-"`
	// Output is the output of an agent other than the react agent.
	Output    json.RawMessage          `json:"output,omitempty"`
	Turns     int                      `json:"turns"`
	Usage     perdure.Usage            `json:"usage"`
	ByModel   map[string]perdure.Usage `json:"usageByModel"`
	Error     string                   `json:"error,omitempty"`
	ErrorCode perdure.Code             `json:"errorCode,omitempty"`
	// WaitsFor are the names of the signals that the run waits for.
	WaitsFor []string `json:"waitsFor,omitempty"`
	// Questions are the open questions of the run.
	Questions []*perdure.Question `json:"questions,omitempty"`
	// Seconds is the time from the start of the run to its end, or to now.
	Seconds float64 `json:"seconds"`
}
