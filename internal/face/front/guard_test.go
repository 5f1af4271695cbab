package front

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/problem"
)

// TestRoutesNeedAKeyUnlessTheyArePublic checks that every route needs a key, except those in the
// list of public routes.
func TestRoutesNeedAKeyUnlessTheyArePublic(t *testing.T) {
	for pattern, c := range map[string]struct {
		target string
		status int
	}{
		"GET /docs":                     {"/docs", 200},
		"GET /healthz":                  {"/healthz", 200},
		"GET /favicon.svg":              {"/favicon.svg", 200},
		"GET /assets/a.js":              {"/assets/a.js", 200},
		"GET /ai/":                      {"/ai/runs/1", 200},
		"GET /new":                      {"/new", 401},
		"POST /docs":                    {"/docs", 401},
		"/docs":                         {"/docs", 401},
		"GET /healthz/{id}":             {"/healthz/1", 401},
		"GET /assets/deep/a.js":         {"/assets/deep/a.js", 401},
		"GET /api/new":                  {"/api/new", 401},
		"GET /api/orgs/{org}/new":       {"/api/orgs/a/new", 401},
		"GET /v2/{file...}":             {"/v2/a.js", 401},
		StreamsPath:                     {"/v1/stream/a", 401},
		"GET /api/orgs/{org}/a/{$}":     {"/api/orgs/a/none", 401}, // no route matches
		"GET /somewhere/{id}/else/{$}":  {"/somewhere/none", 404},  // no route matches
		"GET /somewhere/{id}/other/{$}": {"/somewhere/1/other/", 401},
	} {
		f := New(Config{})
		f.Handle(Route{Pattern: pattern}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) })
		method := "GET"
		if pattern == "POST /docs" {
			method = "POST"
		}
		w := httptest.NewRecorder()
		f.ServeHTTP(w, httptest.NewRequest(method, c.target, nil))
		if w.Code != c.status {
			t.Errorf("%s: %s %s without a key is answered %d, want %d", pattern, method, c.target, w.Code, c.status)
		}
	}
}

// TestAccessOfRoutes checks that a route without an explicit Access admits only admins, and that no
// route admits the zero Caller, which an unauthenticated request has.
func TestAccessOfRoutes(t *testing.T) {
	approver := Caller{Org: "a", Role: perdure.KeyApprover}
	var unnamed Access
	admin, client, worker, operator := Caller{Org: "a", Role: perdure.KeyAdmin}, Caller{Org: "a", Role: perdure.KeyClient}, Caller{Org: "a", Role: perdure.KeyWorker}, Caller{Org: "a", Role: perdure.KeyAdmin, Operator: true}
	for _, c := range []struct {
		caller Caller
		access Access
		org    string
		want   perdure.Code
	}{
		{client, Client, "a", ""},
		{approver, Approver, "a", ""},
		{client, Approver, "a", ""},
		{admin, Approver, "a", ""},
		{operator, Approver, "a", ""},
		{worker, Approver, "a", perdure.PermissionDenied},
		{Caller{}, Approver, "", perdure.PermissionDenied},
		{approver, Approver, "b", perdure.NotFound},
		{approver, Client, "a", perdure.PermissionDenied},
		{approver, Client, "", perdure.PermissionDenied},
		{approver, Admin, "a", perdure.PermissionDenied},
		{approver, Operator, "a", perdure.PermissionDenied},
		{approver, unnamed, "a", perdure.PermissionDenied},
		{client, unnamed, "a", perdure.PermissionDenied},
		{worker, unnamed, "a", perdure.PermissionDenied},
		{admin, unnamed, "a", ""},
		{admin, Client, "a", ""},
		{operator, Client, "a", ""},
		{client, Client, "", ""},
		{worker, Client, "a", perdure.PermissionDenied},
		{worker, Client, "", perdure.PermissionDenied},
		{Caller{}, Client, "", perdure.PermissionDenied},
		{client, Client, "b", perdure.NotFound},
		{worker, Client, "b", perdure.NotFound},
		{admin, Admin, "b", perdure.NotFound},
		{client, Admin, "a", perdure.PermissionDenied},
		{admin, Admin, "a", ""},
		{operator, Admin, "a", ""},
		{admin, Operator, "a", perdure.PermissionDenied},
		{operator, Operator, "b", ""},
		{Caller{}, Operator, "", perdure.PermissionDenied},
	} {
		if got := codeOf(refusal(c.caller, c.access, c.org)); got != c.want {
			t.Errorf("%+v, access %d, org %q: refused with %q, want %q", c.caller, c.access, c.org, got, c.want)
		}
	}
}

func codeOf(p *problem.Problem) perdure.Code {
	if p == nil {
		return ""
	}
	return p.Code
}
