package rest

import (
	"context"
	"net/http"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/retention"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/operation"
)

const prunePath = "/agent-executions/prune"

func (s *server) retentionRoutes() {
	g := operation.Group{API: s.API, Access: front.Client, Tag: "Retention"}
	operation.Get(g, "/retention", "getRetention", "Get how long the org keeps things", s.getRetention)
	operation.On(g, http.MethodPut, "/retention", "putRetention", "Say how long the org keeps things; what is left out is the default", s.putRetention, operation.AdminOnly)
	operation.On(g, http.MethodPost, prunePath, "pruneExecutions", "Delete what is kept no longer, or say what would be", s.prune, operation.AdminOnly)
}

// periods is a retention policy in the form that clients send: each period is a text.
type periods struct {
	Executions  string `json:"executions,omitempty" doc:"How long an ended execution is kept, with all that belongs to it: like 30d, 12h or forever. Default forever."`
	Checkpoints string `json:"checkpoints,omitempty" doc:"How long a checkpoint is kept that another has followed. Default 7d."`
	Logs        string `json:"logs,omitempty" doc:"How long the log of an ended execution is kept; its entries stay. Default forever."`
}

// policy parses the periods. If r is nil, it returns nil.
func (r *periods) policy() (*perdure.Retention, error) {
	if r == nil {
		return nil, nil
	}
	var p perdure.Retention
	for _, field := range []struct {
		name, text string
		into       **perdure.Period
	}{{"executions", r.Executions, &p.Executions}, {"checkpoints", r.Checkpoints, &p.Checkpoints}, {"logs", r.Logs, &p.Logs}} {
		if field.text == "" {
			continue
		}
		period, err := perdure.ParsePeriod(field.text)
		if err != nil {
			return nil, perdure.FieldErrorf("retention."+field.name, "%v", err)
		}
		*field.into = &period
	}
	return &p, nil
}

// retentionBody is the body of a response with the retention policy that is in effect.
type retentionBody struct {
	RetentionText
	Set bool `json:"set" doc:"Whether anybody has said so; otherwise it is the default."`
}

// RetentionText is a retention policy with each period as text.
type RetentionText struct {
	Executions  string `json:"executions"`
	Checkpoints string `json:"checkpoints"`
	Logs        string `json:"logs"`
}

func retentionReply(r perdure.Retention, set bool) *operation.Body[retentionBody] {
	return operation.BodyOf(retentionBody{
		RetentionText{Executions: r.Executions.String(), Checkpoints: r.Checkpoints.String(), Logs: r.Logs.String()}, set,
	})
}

func (s *server) getRetention(ctx context.Context, in *operation.OrgInput) (*operation.Body[retentionBody], error) {
	policy, set, err := s.Engine.Retention(ctx, in.Org)
	if err != nil {
		return nil, err
	}
	return retentionReply(policy, set), nil
}

type putRetentionInput struct {
	operation.OrgInput
	Body periods
}

func (s *server) putRetention(ctx context.Context, in *putRetentionInput) (*operation.Body[retentionBody], error) {
	policy, err := in.Body.policy()
	if err != nil {
		return nil, err
	}
	set, err := s.Engine.SetRetention(ctx, in.Org, *policy)
	if err != nil {
		return nil, err
	}
	return retentionReply(set, true), nil
}

type pruneInput struct {
	operation.OrgInput
	Body pruneBody
}

type pruneBody struct {
	OlderThan    string   `json:"olderThan,omitempty" doc:"Executions that ended that long ago, like 30d; left out, what the policies say, over checkpoints and logs, too."`
	Status       []string `json:"status,omitempty" doc:"Only executions that ended so."`
	DefinitionID string   `json:"agentDefinitionId,omitempty" doc:"Only executions that started from it."`
	DryRun       bool     `json:"dryRun,omitempty" doc:"Say what would go, and change nothing."`
}

func (b pruneBody) request() (retention.PruneRequest, error) {
	r := retention.PruneRequest{DryRun: b.DryRun}
	if b.OlderThan != "" {
		older, err := parseAge(b.OlderThan)
		if err != nil {
			return r, err
		}
		r.OlderThan = &older
	}
	for _, text := range b.Status {
		status, err := perdure.ParseStatus(text)
		if err != nil {
			return r, err
		}
		r.Status = append(r.Status, status)
	}
	if b.DefinitionID != "" {
		id, err := front.ParseID("agent definition", b.DefinitionID)
		if err != nil {
			return r, err
		}
		r.DefinitionID = &id
	}
	return r, nil
}

// parseAge parses the age from which data is pruned: a period, or 0 for any age.
func parseAge(text string) (time.Duration, error) {
	if text == "0" || text == "0s" || text == "0d" {
		return 0, nil
	}
	period, err := perdure.ParsePeriod(text)
	if err != nil || period == perdure.Forever {
		return 0, perdure.FieldErrorf("olderThan", `%q is no age; write it like "30d" or "12h", or "0" for any`, text)
	}
	return time.Duration(period), nil
}

func (s *server) prune(ctx context.Context, in *pruneInput) (*operation.Body[retention.PruneReport], error) {
	r, err := in.Body.request()
	if err != nil {
		return nil, err
	}
	report, err := s.Engine.Pruner.Prune(ctx, in.Org, r)
	if err != nil {
		return nil, err
	}
	return operation.BodyOf(report), nil
}
