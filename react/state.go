package react

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// states says which versions of the state this program knows. A change that an
// older state does not decode into needs the next version and a migration.
var states = agent.DefineState[state](1)

// state is what a checkpoint of the react agent holds. It does not grow with
// the conversation.
type state struct {
	TotalUsage   perdure.Usage            `json:"totalUsage"`
	UsageByModel map[string]perdure.Usage `json:"usageByModel"`
	TurnIndex    int                      `json:"turnIndex"`
	// ResponseID, ResponseTurns and ResponseCalls are of the running response.
	ResponseID    string `json:"responseId"`
	ResponseTurns int    `json:"responseTurns"`
	// ResponseCalls counts the calls of tools that run here, for Turns.MaxToolCalls.
	ResponseCalls int `json:"responseCalls,omitempty"`
	// Pending is what the loop awaits; nil between turns.
	Pending *pending `json:"pending,omitempty"`
	// Idle says that the response has ended, with StopReason, Text and, if the
	// model failed, Error.
	Idle       bool               `json:"idle"`
	StopReason perdure.StopReason `json:"stopReason,omitempty"`
	Error      string             `json:"error,omitempty"`
	ErrorCode  perdure.Code       `json:"errorCode,omitempty"`
	Text       string             `json:"text,omitempty"`
	// Open are the calls that the client has to answer, while idle.
	Open []call `json:"open,omitempty"`
	// Settings are those of the running response, if it came with its own.
	Settings *perdure.ReactInput `json:"settings,omitempty"`
	// Try counts how often the turn has been tried again after it failed.
	Try int `json:"try,omitempty"`
	// Prompt is the hash of what the last model call was asked with.
	Prompt string `json:"prompt,omitempty"`
}

// pending names the tasks that were scheduled in the commit that stored it.
type pending struct {
	Turn  int                 `json:"turn"`
	Try   int                 `json:"try"`
	Model perdure.ModelConfig `json:"model"`
	// EntryID is that of the assistant entry that the answer becomes.
	EntryID uuid.UUID `json:"entryId"`
	// ModelTask is set while the model is asked.
	ModelTask *uuid.UUID `json:"modelTask,omitempty"`
	// Calls are the answer's tool calls, in call order, once there is one. Done
	// of them have their results stored; the next Running of them run.
	Calls   []call `json:"calls,omitempty"`
	Done    int    `json:"done,omitempty"`
	Running int    `json:"running,omitempty"`
}

// call is a tool call of the pending turn.
type call struct {
	ID   string `json:"id"` // our own
	Name string `json:"name"`
	// Arguments is the raw text received. It is dropped once the call runs.
	Arguments string `json:"arguments,omitempty"`
	Barrier   bool   `json:"barrier,omitempty"`
	// Client calls are answered by the client.
	Client bool `json:"client,omitempty"`
	// Task is set once the call runs; Refused, if it cannot, is its result.
	Task    *uuid.UUID `json:"task,omitempty"`
	Refused string     `json:"refused,omitempty"`
}

// next returns how many calls after the first from run together: one barrier
// alone, or all up to the next barrier or the client's.
func (p *pending) next() int {
	rest := p.Calls[p.Done:]
	if len(rest) == 0 {
		return 0
	}
	if rest[0].Barrier {
		return 1
	}
	for i, c := range rest {
		if c.Barrier || c.Client {
			return i
		}
	}
	return len(rest)
}

func (s *state) count(model perdure.ModelConfig, u perdure.Usage) {
	s.TotalUsage = s.TotalUsage.Add(u)
	if s.UsageByModel == nil {
		s.UsageByModel = map[string]perdure.Usage{}
	}
	s.UsageByModel[model.String()] = s.UsageByModel[model.String()].Add(u)
}
