package rest

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/operation"
)

// orgRoutes registers the operations on orgs. Only an operator may use them: a caller with the
// token of the server's data directory.
func (s *server) orgRoutes() {
	operate(s, http.MethodGet, "", "listOrgs", "List the orgs, disabled ones too", 200, s.listOrgs)
	operate(s, http.MethodPost, "", "createOrg", "Create an org", 201, s.createOrg)
	operate(s, http.MethodGet, "/{org}", "getOrg", "One org", 200, s.getOrg)
	operate(s, http.MethodPost, "/{org}/disable", "disableOrg",
		"Refuse the org's keys, end its streams and stop its claims, within 5 s; its rows stay", 200, s.disableOrg)
	operate(s, http.MethodPost, "/{org}/enable", "enableOrg", "Let a disabled org work again, with the keys that it had", 200, s.enableOrg)
}

// operate registers an operation that only an operator may use.
func operate[I, O any](s *server, method, path, id, summary string, code int, do func(context.Context, *I) (*O, error)) {
	op := huma.Operation{
		Method: method, Path: front.OrgsPath + path, OperationID: id, Summary: summary, Tags: []string{"Orgs"}, DefaultStatus: code,
		Security:     operation.Security,
		MaxBodyBytes: 64 << 10, BodyReadTimeout: time.Minute,
		Responses: map[string]*huma.Response{"default": operation.ProblemResponse, "429": operation.TooMuchResponse},
	}
	operation.Register(s.API, op, front.Route{Access: front.Operator}, do)
}

type listOrgsInput struct {
	operation.PageInput
}

func (s *server) listOrgs(ctx context.Context, in *listOrgsInput) (*operation.Body[operation.List[*perdure.Org]], error) {
	orgs, err := s.Engine.Orgs(ctx, in.Cursor, in.Limit+1)
	if err != nil {
		return nil, err
	}
	next := ""
	if len(orgs) > in.Limit {
		orgs = orgs[:in.Limit]
		next = orgs[in.Limit-1].ID
	}
	return operation.ListOf(orgs, next), nil
}

type createOrgInput struct {
	Body struct {
		ID string `json:"id" minLength:"1" maxLength:"63" doc:"Lower-case letters, digits, - and _; begins with a letter or digit."`
	}
}

func (s *server) createOrg(ctx context.Context, in *createOrgInput) (*operation.Body[*perdure.Org], error) {
	return orgBody(s.Engine.CreateOrg(ctx, in.Body.ID))
}

func (s *server) getOrg(ctx context.Context, in *operation.OrgInput) (*operation.Body[*perdure.Org], error) {
	return orgBody(s.Engine.Org(ctx, in.Org))
}

func (s *server) disableOrg(ctx context.Context, in *operation.OrgInput) (*operation.Body[*perdure.Org], error) {
	return orgBody(s.Engine.DisableOrg(ctx, in.Org))
}

func (s *server) enableOrg(ctx context.Context, in *operation.OrgInput) (*operation.Body[*perdure.Org], error) {
	return orgBody(s.Engine.EnableOrg(ctx, in.Org))
}

func orgBody(org *perdure.Org, err error) (*operation.Body[*perdure.Org], error) {
	if err != nil {
		return nil, err
	}
	return operation.BodyOf(org), nil
}
