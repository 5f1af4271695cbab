package react

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// states defines the versions of the state that this program supports. A change that breaks the
// decoding of an older state needs the next version and a migration.
var states = agent.DefineState[state](1)

// state is the checkpoint state of the react agent. It does not grow with the conversation.
type state struct {
	TotalUsage   perdure.Usage            `json:"totalUsage"`
	UsageByModel map[string]perdure.Usage `json:"usageByModel"`
	TurnIndex    int                      `json:"turnIndex"`
	// ResponseID, ResponseTurns and ResponseCalls belong to the running response.
	ResponseID    string `json:"responseId"`
	ResponseTurns int    `json:"responseTurns"`
	// ResponseCalls counts the calls of tools that run here, for Turns.MaxToolCalls.
	ResponseCalls int `json:"responseCalls,omitempty"`
	// Pending names the tasks that the loop awaits; nil between turns.
	Pending *pending `json:"pending,omitempty"`
	// Idle reports that the response has ended, with StopReason, Text and, if the model failed,
	// Error.
	Idle       bool               `json:"idle"`
	StopReason perdure.StopReason `json:"stopReason,omitempty"`
	Error      string             `json:"error,omitempty"`
	ErrorCode  perdure.Code       `json:"errorCode,omitempty"`
	Text       string             `json:"text,omitempty"`
	// Open are the calls that the client must answer, while idle.
	Open []call `json:"open,omitempty"`
	// Settings are the settings of the running response, if it has its own.
	Settings *perdure.ReactInput `json:"settings,omitempty"`
	// Try counts the retries of a failed turn.
	Try int `json:"try,omitempty"`
	// Prompt is the hash of the last model call's prompt.
	Prompt string `json:"prompt,omitempty"`
}

// pending names the tasks that were scheduled in the commit that stored this state.
type pending struct {
	Turn  int                 `json:"turn"`
	Try   int                 `json:"try"`
	Model perdure.ModelConfig `json:"model"`
	// EntryID is the id of the assistant's entry that will hold the answer.
	EntryID uuid.UUID `json:"entryId"`
	// ModelTask is set while the model call runs.
	ModelTask *uuid.UUID `json:"modelTask,omitempty"`
	// Calls are the answer's tool calls in call order. The results of the first Done calls are
	// stored; the next Running calls run.
	Calls   []call `json:"calls,omitempty"`
	Done    int    `json:"done,omitempty"`
	Running int    `json:"running,omitempty"`
}

// call is a tool call of the pending turn.
type call struct {
	ID   string `json:"id"` // our id
	Name string `json:"name"`
	// Arguments is the raw text from the model. It is removed once the call runs.
	Arguments string `json:"arguments,omitempty"`
	Barrier   bool   `json:"barrier,omitempty"`
	// Client marks a call that the client answers.
	Client bool `json:"client,omitempty"`
	// Task is set once the call runs. Refused is the result of a call that cannot run.
	Task    *uuid.UUID `json:"task,omitempty"`
	Refused string     `json:"refused,omitempty"`
}

// next returns the number of calls that run together next: a barrier by itself, or all calls up to
// the next barrier or client's call.
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
