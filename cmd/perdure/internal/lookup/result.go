package lookup

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// AgentState is the part of the react agent's checkpoint state that commands show. For other agents
// it stays empty.
type AgentState struct {
	TotalUsage   perdure.Usage            `json:"totalUsage"`
	UsageByModel map[string]perdure.Usage `json:"usageByModel"`
	TurnIndex    int                      `json:"turnIndex"`
	StopReason   perdure.StopReason       `json:"stopReason"`
	Error        string                   `json:"error"`
	Text         string                   `json:"text"`
	// Model is the model that a person has chosen.
	Model *perdure.ModelChoice `json:"model"`
}

// ReadAgentState reads the newest checkpoint's state; the zero state if there is none.
func ReadAgentState(ctx context.Context, conn *connection.Conn, x *perdure.Execution) (AgentState, error) {
	var s AgentState
	if x.Kind != perdure.ReactKind || x.CheckpointSeq == 0 {
		return s, nil
	}
	c, err := conn.Checkpoint(ctx, x.ID, 0)
	if perdure.IsCode(err, perdure.NotFound) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	if err := conn.Fetch(ctx, x.ID, &c.State, c.StateBytes, c.StateSHA256); err != nil {
		return s, err
	}
	if terminal.ContentOnWorker(c.State) {
		return s, nil
	}
	if err := json.Unmarshal(c.State, &s); err != nil {
		return s, &perdure.Error{Code: perdure.Internal, Message: "the state of run " + x.ID.String() + " does not decode", Err: err}
	}
	return s, nil
}

// ReadResult reads the state of the run from the server, for the end of a command's output.
func ReadResult(ctx context.Context, conn *connection.Conn, id uuid.UUID) (terminal.Result, error) {
	x, err := conn.Get(ctx, id)
	if err != nil {
		return terminal.Result{}, err
	}
	if err := conn.Fetch(ctx, x.ID, &x.Output, x.OutputBytes, x.OutputSHA256); err != nil {
		return terminal.Result{}, err
	}
	s, err := ReadAgentState(ctx, conn, x)
	if err != nil {
		return terminal.Result{}, err
	}
	r := terminal.Result{
		ID: x.ID, Word: StatusWord(x), React: x.Kind == perdure.ReactKind, Local: x.PersistenceMode == perdure.Local, Status: x.Status, ExitCode: exitCodeOf(x), StopReason: s.StopReason, Text: s.Text, Turns: s.TurnIndex,
		Usage: s.TotalUsage, ByModel: s.UsageByModel, Error: s.Error, Seconds: runTime(x).Round(time.Millisecond).Seconds(),
		WaitsFor: AwaitedSignals(x),
	}
	if x.Status == perdure.StatusCancelled {
		r.StopReason, r.Error = perdure.StopCancelled, ""
	}
	if r.ByModel == nil {
		r.ByModel = map[string]perdure.Usage{}
	}
	if x.Error != nil {
		r.Error = *x.Error
	}
	if x.ErrorCode != nil {
		r.ErrorCode = *x.ErrorCode
	}
	if x.OpenQuestions > 0 {
		if r.Questions, err = OpenQuestions(ctx, conn.Client, x.ID, false); err != nil {
			return terminal.Result{}, err
		}
	}
	var out perdure.ReactOutput
	if x.Kind == perdure.ReactKind && json.Unmarshal(x.Output, &out) == nil && out.StopReason != "" {
		r.StopReason, r.Text = out.StopReason, out.Text
	}
	if x.Kind != perdure.ReactKind && x.Status == perdure.StatusCompleted {
		r.Output = x.Output
	}
	return r, nil
}

func runTime(x *perdure.Execution) time.Duration {
	if x.CompletedAt != nil {
		return x.CompletedAt.Sub(x.CreatedAt.Time)
	}
	return time.Since(x.CreatedAt.Time)
}

func exitCodeOf(x *perdure.Execution) int {
	switch x.Status {
	case perdure.StatusCompleted:
		return setup.ExitOK
	case perdure.StatusCancelled:
		return setup.ExitCancelled
	case perdure.StatusFailed:
		return setup.ExitFailed
	}
	return setup.ExitWaiting
}

// internalSignals is the beginning of the names of signals that have commands of their own.
const internalSignals = "perdure."

// AwaitedSignals returns the names of the signals that the user may send to a WAITING run; nil for other
// runs.
func AwaitedSignals(x *perdure.Execution) []string {
	if x.Status != perdure.StatusWaiting || x.Wait == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(x.Wait.Signals()), func(name string) bool { return strings.HasPrefix(name, internalSignals) })
}
