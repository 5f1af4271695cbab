package react

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// states defines the versions of the state that this program can load. A change of the type state
// that prevents decoding an older state needs the next version and a migration.
var states = agent.DefineState[state](1)

// state is the state of the react agent in a checkpoint. Its size does not depend on the length of
// the conversation.
type state struct {
	TotalUsage   perdure.Usage            `json:"totalUsage"`
	UsageByModel map[string]perdure.Usage `json:"usageByModel"`
	TurnIndex    int                      `json:"turnIndex"`
	// ResponseID, ResponseTurns and ResponseCalls are about the current response.
	ResponseID    string `json:"responseId"`
	ResponseTurns int    `json:"responseTurns"`
	// ResponseCalls counts the calls of tools that run on workers, for Turns.MaxToolCalls.
	ResponseCalls int `json:"responseCalls,omitempty"`
	// Pending is the turn in progress, whose tasks the loop awaits. It is nil between turns.
	Pending *pending `json:"pending,omitempty"`
	// Idle says that the response has ended. StopReason and Text then describe its end. If the
	// model failed, Error and ErrorCode are also set.
	Idle       bool               `json:"idle"`
	StopReason perdure.StopReason `json:"stopReason,omitempty"`
	Error      string             `json:"error,omitempty"`
	ErrorCode  perdure.Code       `json:"errorCode,omitempty"`
	Text       string             `json:"text,omitempty"`
	// Open are the calls that the client must answer. It is set only while the loop is idle.
	Open []call `json:"open,omitempty"`
	// Stopping is the turn that a person stops. It is set from the commit that stops the turn until
	// its response has ended.
	Stopping *stoppedTurn `json:"stopping,omitempty"`
	// Settings are the settings of the current response. If nil, the settings in the execution's
	// input apply.
	Settings *perdure.ReactInput `json:"settings,omitempty"`
	// Model is the model that a person has chosen. It applies if it is among the models of the
	// current response.
	Model *perdure.ModelChoice `json:"model,omitempty"`
	// Try is the number of times that the failed turn was retried.
	Try int `json:"try,omitempty"`
	// Prompt is the hash of the prompt of the last model call. It is empty after a compaction.
	Prompt     string      `json:"prompt,omitempty"`
	LastPrompt *lastPrompt `json:"lastPrompt,omitempty"`
	// Size is the known or estimated size of the context.
	Size contextSize `json:"size,omitzero"`
	// Compaction is the compaction whose summary is being written. Unless that happens in the
	// background, the loop awaits the summary before the next turn. Compactions is the number of
	// compactions that were begun.
	Compaction  *compaction `json:"compaction,omitempty"`
	Compactions int         `json:"compactions,omitempty"`
	// Rest is a partial compaction: the window was too small for all that it should cover. The loop
	// begins another one for the remaining entries.
	Rest *compaction `json:"rest,omitempty"`
	// CompactFrom is the estimated context size, in tokens, from which the next automatic
	// compaction is tried. It is set after a compaction that failed or did not make the context
	// small enough.
	CompactFrom int `json:"compactFrom,omitempty"`
	// BackgroundFrom is the estimated context size, in tokens, from which the next summary is
	// written in the background. It is set after a compaction.
	BackgroundFrom int `json:"backgroundFrom,omitempty"`
	// TooLong is set if a compaction was begun because the provider refused a turn's context as too
	// long. It is the number of that turn plus one, or 0.
	TooLong int `json:"tooLong,omitempty"`
}

// pending is the turn whose tasks were scheduled in the commit that stored this state.
type pending struct {
	Turn  int                 `json:"turn"`
	Try   int                 `json:"try"`
	Model perdure.ModelConfig `json:"model"`
	// EntryID is the id that the entry with the model's answer gets.
	EntryID uuid.UUID `json:"entryId"`
	// ModelTask is the id of the model call while it runs.
	ModelTask *uuid.UUID `json:"modelTask,omitempty"`
	// Calls are the answer's tool calls, in their order. The results of the first Done calls are
	// stored; the next Running calls are running.
	Calls   []call `json:"calls,omitempty"`
	Done    int    `json:"done,omitempty"`
	Running int    `json:"running,omitempty"`
}

// call is a tool call of the turn in progress.
type call struct {
	ID   string `json:"id"` // Perdure's id of the call, not the provider's
	Name string `json:"name"`
	// Arguments is the text from the model. It is removed when the call is scheduled.
	Arguments string `json:"arguments,omitempty"`
	Barrier   bool   `json:"barrier,omitempty"`
	// Client says that the client runs the tool and sends the result.
	Client bool `json:"client,omitempty"`
	// Task is the id of the call's task, once it is scheduled. Refused is the result of a call that
	// is not run.
	Task *uuid.UUID `json:"task,omitempty"`
	// Question is the id of the approval question about the call, while the call waits for the
	// answer.
	Question *uuid.UUID `json:"question,omitempty"`
	Refused  string     `json:"refused,omitempty"`
	// Edited are the arguments that the call was run with, if a person has changed them.
	Edited string `json:"edited,omitempty"`
}

// next returns the number of calls that run together next: one barrier, or all calls before the
// next barrier or the next call of a client tool.
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

// maxCountedModels is the maximum number of models whose usage is counted separately. Only code
// that chooses models by itself can name more; their usage is counted together as otherModels.
const (
	maxCountedModels = 100
	otherModels      = "other"
)

func (s *state) count(model perdure.ModelConfig, u perdure.Usage) {
	s.TotalUsage = s.TotalUsage.Add(u)
	if s.UsageByModel == nil {
		s.UsageByModel = map[string]perdure.Usage{}
	}
	name := model.String()
	if _, known := s.UsageByModel[name]; !known && len(s.UsageByModel) >= maxCountedModels {
		name = otherModels
	}
	s.UsageByModel[name] = s.UsageByModel[name].Add(u)
}
