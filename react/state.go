package react

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// states defines which versions of the stored state this program can load. A change of the type
// state that makes stored states unreadable must increase the version and add a migration.
var states = agent.DefineState[state](1)

// state is what the react agent stores in a checkpoint. Its size does not depend on the length of the
// conversation.
type state struct {
	TotalUsage   perdure.Usage            `json:"totalUsage"`
	UsageByModel map[string]perdure.Usage `json:"usageByModel"`
	TurnIndex    int                      `json:"turnIndex"`
	// ResponseID is the id of the current response. ResponseTurns counts its model calls.
	ResponseID    string `json:"responseId"`
	ResponseTurns int    `json:"responseTurns"`
	// ResponseCalls counts the tool calls of the current response that run on workers. Its limit is
	// perdure.Turns.MaxToolCalls.
	ResponseCalls int `json:"responseCalls,omitempty"`
	// Pending is the turn for whose tasks the loop waits; nil between turns.
	Pending *pending `json:"pending,omitempty"`
	// Idle says that the response has ended. StopReason and Text then say how it ended. If the
	// model failed, Error and ErrorCode describe that failure.
	Idle       bool               `json:"idle"`
	StopReason perdure.StopReason `json:"stopReason,omitempty"`
	Error      string             `json:"error,omitempty"`
	ErrorCode  perdure.Code       `json:"errorCode,omitempty"`
	Text       string             `json:"text,omitempty"`
	// Open contains the tool calls whose results the client must send. It is set only while Idle is
	// true.
	Open []call `json:"open,omitempty"`
	// Stopping is the turn that a person has stopped. It is set from the commit that stops the turn until
	// the response of the turn has ended.
	Stopping *stoppedTurn `json:"stopping,omitempty"`
	// Settings are the settings of the current response. If Settings is nil, the settings in the
	// execution's input apply.
	Settings *perdure.ReactInput `json:"settings,omitempty"`
	// Model is the model that a person has chosen. It is used if it is among the models of the current
	// response.
	Model *perdure.ModelChoice `json:"model,omitempty"`
	// Try is the number of retries of a failed turn.
	Try int `json:"try,omitempty"`
	// Prompt is the hash of the last model call's prompt; empty after a compaction.
	Prompt     string      `json:"prompt,omitempty"`
	LastPrompt *lastPrompt `json:"lastPrompt,omitempty"`
	Size       contextSize `json:"size,omitzero"`
	// Compaction is the compaction whose summary a task is writing. Unless it is a compaction in
	// the background, the loop waits for the summary before the next turn. Compactions is the
	// number of compactions that have begun.
	Compaction  *compaction `json:"compaction,omitempty"`
	Compactions int         `json:"compactions,omitempty"`
	// Rest is a compaction that covered only some of the entries that it should have covered,
	// because the window was too small. The loop begins another compaction for the remaining
	// entries.
	Rest *compaction `json:"rest,omitempty"`
	// CompactFrom is the estimated context size, in tokens, at which the next automatic compaction
	// is tried. It is set after a compaction that failed, or after which the context was still too
	// large.
	CompactFrom int `json:"compactFrom,omitempty"`
	// BackgroundFrom is the estimated context size, in tokens, at which the next compaction in the
	// background is tried. It is set after a compaction.
	BackgroundFrom int `json:"backgroundFrom,omitempty"`
	// TooLong is the number, plus one, of the turn for which a compaction has begun because the
	// provider refused the turn's context as too long. It is 0 if there is no such turn.
	TooLong int `json:"tooLong,omitempty"`
}

// pending is the turn whose tasks were scheduled in the commit that stored this state.
type pending struct {
	Turn  int                 `json:"turn"`
	Try   int                 `json:"try"`
	Model perdure.ModelConfig `json:"model"`
	// EntryID is the id that the entry of the model's answer will have.
	EntryID uuid.UUID `json:"entryId"`
	// ModelTask is the id of the model call while it runs.
	ModelTask *uuid.UUID `json:"modelTask,omitempty"`
	// Calls are the tool calls in the answer, in order. The results of the first Done calls are stored, and
	// the next Running calls are running.
	Calls   []call `json:"calls,omitempty"`
	Done    int    `json:"done,omitempty"`
	Running int    `json:"running,omitempty"`
}

// call is a tool call of the turn in progress.
type call struct {
	ID   string `json:"id"` // Perdure's id of the call, not the provider's
	Name string `json:"name"`
	// Arguments is the text that the model wrote. It is removed when the call is scheduled.
	Arguments string `json:"arguments,omitempty"`
	Barrier   bool   `json:"barrier,omitempty"`
	// Client says that the client runs the tool and sends the result.
	Client bool `json:"client,omitempty"`
	// Task is the id of the call's task once it is scheduled. Refused is the result for the model if the
	// call is not run.
	Task *uuid.UUID `json:"task,omitempty"`
	// Question is the id of the approval question about the call, while the question is open.
	Question *uuid.UUID `json:"question,omitempty"`
	Refused  string     `json:"refused,omitempty"`
	// If a person has changed the arguments of the call, Edited contains the changed arguments.
	Edited string `json:"edited,omitempty"`
}

// next returns the number of calls in the next group. A group is a single call of a tool with
// Barrier, or the calls up to the next call of a tool with Barrier or of a client tool.
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

// maxCountedModels is the maximum number of models whose usage is counted separately. The usage of
// all further models is counted together as otherModels.
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
