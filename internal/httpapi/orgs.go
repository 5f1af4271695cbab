package httpapi

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/perdure/perdure"
)

// orgsPath is the path of the list of orgs; the paths of each org are below it.
const orgsPath = "/api/orgs"

// orgRoutes registers the operations on orgs. They require an operator, which is the token of the
// data directory.
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
		Method: method, Path: orgsPath + path, OperationID: id, Summary: summary, Tags: []string{"Orgs"}, DefaultStatus: code,
		Security:     security,
		MaxBodyBytes: 64 << 10, BodyReadTimeout: time.Minute,
		Middlewares: huma.Middlewares{s.operator},
		Responses:   map[string]*huma.Response{"default": problemResponse, "429": tooMuchResponse},
	}
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := do(ctx, in)
		if err != nil {
			return nil, s.problemOf(ctx, err)
		}
		return out, nil
	})
}

// operator rejects callers that are not operators.
func (s *server) operator(ctx huma.Context, next func(huma.Context)) {
	if !callerOf(ctx.Context()).operator {
		s.refuse(ctx, newProblem(perdure.PermissionDenied, "only an operator may do this: use the token of the server's data directory"))
		return
	}
	next(ctx)
}

// orgFor returns the org of a request. A stored key has one org. An operator names any org in the
// path; it must exist and not be disabled, except for the operations on orgs themselves. Errors:
// not_found, permission_denied.
func (s *server) orgFor(r *http.Request, key *perdure.APIKey) (string, error) {
	if !key.Operator {
		return key.Org, nil
	}
	org, rest := key.Org, "-"
	if below, ok := strings.CutPrefix(r.URL.Path, orgsPath); ok {
		below = strings.Trim(below, "/")
		org, rest, _ = strings.Cut(below, "/")
	}
	switch rest {
	case "", "disable", "enable":
		return org, nil
	}
	if org != perdure.DefaultOrg {
		if _, err := s.Engine.Org(r.Context(), org); err != nil {
			return "", err
		}
	}
	return org, s.Engine.OrgWorks(r.Context(), org)
}

type listOrgsInput struct {
	PageInput
}

func (s *server) listOrgs(ctx context.Context, in *listOrgsInput) (*body[list[*perdure.Org]], error) {
	orgs, err := s.Engine.Orgs(ctx, in.Cursor, in.Limit+1)
	if err != nil {
		return nil, err
	}
	next := ""
	if len(orgs) > in.Limit {
		orgs = orgs[:in.Limit]
		next = orgs[in.Limit-1].ID
	}
	return listOf(orgs, next), nil
}

type createOrgInput struct {
	Body struct {
		ID string `json:"id" minLength:"1" maxLength:"63" doc:"Lower-case letters, digits, - and _; begins with a letter or digit."`
	}
}

func (s *server) createOrg(ctx context.Context, in *createOrgInput) (*body[*perdure.Org], error) {
	return orgBody(s.Engine.CreateOrg(ctx, in.Body.ID))
}

func (s *server) getOrg(ctx context.Context, in *OrgInput) (*body[*perdure.Org], error) {
	return orgBody(s.Engine.Org(ctx, in.Org))
}

func (s *server) disableOrg(ctx context.Context, in *OrgInput) (*body[*perdure.Org], error) {
	return orgBody(s.Engine.DisableOrg(ctx, in.Org))
}

func (s *server) enableOrg(ctx context.Context, in *OrgInput) (*body[*perdure.Org], error) {
	return orgBody(s.Engine.EnableOrg(ctx, in.Org))
}

func orgBody(org *perdure.Org, err error) (*body[*perdure.Org], error) {
	if err != nil {
		return nil, err
	}
	return &body[*perdure.Org]{org}, nil
}
