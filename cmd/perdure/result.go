package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// result is the state of a run when a command leaves it.
type result struct {
	ID         uuid.UUID          `json:"agentExecutionId"`
	Status     perdure.Status     `json:"status"`
	ExitCode   int                `json:"exitCode"`
	StopReason perdure.StopReason `json:"stopReason,omitempty"`
	Text       string             `json:"text"`
	// Output is the output of an agent other than the react agent.
	Output    json.RawMessage          `json:"output,omitempty"`
	Turns     int                      `json:"turns"`
	Usage     perdure.Usage            `json:"usage"`
	ByModel   map[string]perdure.Usage `json:"usageByModel"`
	Error     string                   `json:"error,omitempty"`
	ErrorCode perdure.Code             `json:"errorCode,omitempty"`
	// WaitsFor are the signals that would wake it.
	WaitsFor []string `json:"waitsFor,omitempty"`
	// Seconds is the time from the start to the end, or to now.
	Seconds float64 `json:"seconds"`
}

// agentState is the part of the react agent's checkpoint state that is shown. For other agents it
// stays empty.
type agentState struct {
	TotalUsage   perdure.Usage            `json:"totalUsage"`
	UsageByModel map[string]perdure.Usage `json:"usageByModel"`
	TurnIndex    int                      `json:"turnIndex"`
	StopReason   perdure.StopReason       `json:"stopReason"`
	Error        string                   `json:"error"`
	Text         string                   `json:"text"`
}

// stateOf reads the newest checkpoint's state; the zero state if there is none.
func (l *link) stateOf(ctx context.Context, x *perdure.Execution) (agentState, error) {
	var s agentState
	if x.Kind != perdure.ReactKind || x.CheckpointSeq == 0 {
		return s, nil
	}
	c, err := l.Checkpoint(ctx, x.ID, 0)
	if perdure.IsCode(err, perdure.NotFound) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	if err := l.Fetch(ctx, x.ID, &c.State, c.StateBytes, c.StateSHA256); err != nil {
		return s, err
	}
	if onWorker(c.State) {
		return s, nil
	}
	if err := json.Unmarshal(c.State, &s); err != nil {
		return s, &perdure.Error{Code: perdure.Internal, Message: "the state of run " + x.ID.String() + " does not decode", Err: err}
	}
	return s, nil
}

// resultOf reads the state of the run.
func (l *link) resultOf(ctx context.Context, id uuid.UUID) (result, error) {
	x, err := l.Get(ctx, id)
	if err != nil {
		return result{}, err
	}
	if err := l.Fetch(ctx, x.ID, &x.Output, x.OutputBytes, x.OutputSHA256); err != nil {
		return result{}, err
	}
	s, err := l.stateOf(ctx, x)
	if err != nil {
		return result{}, err
	}
	r := result{
		ID: x.ID, Status: x.Status, ExitCode: exitOf(x), StopReason: s.StopReason, Text: s.Text, Turns: s.TurnIndex,
		Usage: s.TotalUsage, ByModel: s.UsageByModel, Error: s.Error, Seconds: lasted(x).Round(time.Millisecond).Seconds(),
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
	if x.Status == perdure.StatusWaiting && x.Wait != nil {
		r.WaitsFor = x.Wait.Signals()
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

func lasted(x *perdure.Execution) time.Duration {
	if x.CompletedAt != nil {
		return x.CompletedAt.Sub(x.CreatedAt.Time)
	}
	return time.Since(x.CreatedAt.Time)
}

func exitOf(x *perdure.Execution) int {
	switch x.Status {
	case perdure.StatusCompleted:
		return exitOK
	case perdure.StatusCancelled:
		return exitCancelled
	case perdure.StatusFailed:
		return exitFailed
	}
	return exitWaiting
}
