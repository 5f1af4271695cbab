package operation

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/problem"
)

// API combines the front, which routes requests, with the OpenAPI document. Registered operations
// are added to both.
type API struct {
	*front.Front
	huma huma.API
}

// New creates an API without operations. The parameter `version` is the version in the OpenAPI
// document.
func New(f *front.Front, version string) *API {
	return &API{Front: f, huma: huma.NewAPI(humaConfig(version), adapter{f})}
}

// adapter is the router of huma. It registers huma's operations with the front.
type adapter struct{ front *front.Front }

// routeKey is the key of the [front.Route] in the metadata of a huma operation.
const routeKey = "route"

// Handle implements [huma.Adapter].
func (a adapter) Handle(op *huma.Operation, handle func(huma.Context)) {
	route, _ := op.Metadata[routeKey].(front.Route)
	route.Pattern = strings.ToUpper(op.Method) + " " + op.Path
	a.front.Handle(route, func(w http.ResponseWriter, r *http.Request) {
		handle(humago.NewContext(op, r, w))
	})
}

// ServeHTTP implements [huma.Adapter].
func (a adapter) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.front.ServeHTTP(w, r) }

// Describe adds an operation to the OpenAPI document without a route. The package that serves the
// operation registers the route with the front.
func (a *API) Describe(op *huma.Operation) { a.huma.OpenAPI().AddOperation(op) }

// Register registers an operation. Its errors are sent as problems. op.Path must be the complete
// path.
func Register[I, O any](a *API, op huma.Operation, route front.Route, do func(context.Context, *I) (*O, error)) {
	op.Metadata = map[string]any{routeKey: route}
	huma.Register(a.huma, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := do(ctx, in)
		if err != nil {
			return nil, a.ProblemOf(ctx, err)
		}
		return out, nil
	})
}

// Operation is an operation and its route, which the options of [On] can change.
type Operation struct {
	huma.Operation
	Route front.Route
}

// Group contains what a group of operations has in common. Their paths are below the path of an
// org.
type Group struct {
	*API
	Tag string // tag of the operations in the OpenAPI document
	// Access states which callers may use the operations. The zero value admits only admins.
	Access front.Access
	// Compress is [front.Route.Compress] of the operations.
	Compress bool
}

// On registers an operation of the group `g`, for callers that g.Access admits.
func On[I, O any](g Group, method, path, id, summary string, do func(context.Context, *I) (*O, error), change ...func(*Operation)) {
	op := Operation{
		Operation: huma.Operation{
			Method: method, Path: front.OrgPath + path, OperationID: id, Summary: summary, Tags: []string{g.Tag},
			Security:     Security,
			MaxBodyBytes: front.BodyLimit + 1, BodyReadTimeout: time.Minute,
			Responses: map[string]*huma.Response{"default": ProblemResponse, "429": TooMuchResponse},
		},
		Route: front.Route{Access: g.Access, Compress: g.Compress},
	}
	for _, f := range change {
		f(&op)
	}
	Register(g.API, op.Operation, op.Route, do)
}

// Get registers an operation with the method GET, as On does. GET operations change nothing.
func Get[I, O any](g Group, path, id, summary string, do func(context.Context, *I) (*O, error), change ...func(*Operation)) {
	On(g, http.MethodGet, path, id, summary, do, change...)
}

// Status returns an option that sets the status code of a successful response.
func Status(code int) func(*Operation) {
	return func(op *Operation) { op.DefaultStatus = code }
}

// AdminOnly is an option that lets only keys of the role admin use an operation.
func AdminOnly(op *Operation) { op.Route.Access = front.Admin }

// ProblemResponse describes an error response in the OpenAPI document.
var ProblemResponse = &huma.Response{
	Description: "An error (RFC 9457)",
	Content:     map[string]*huma.MediaType{"application/problem+json": {Schema: &huma.Schema{Ref: SchemaPrefix + "Problem"}}},
}

// TooMuchResponse describes the status 429. Every operation can return it, because every request
// counts towards the limits of its key.
var TooMuchResponse = &huma.Response{
	Description: "A limit of the key is reached (RFC 9457)",
	Headers: map[string]*huma.Param{"Retry-After": {
		Description: "After how many seconds to ask again.", Required: true, Schema: &huma.Schema{Type: huma.TypeInteger},
	}},
	Content: ProblemResponse.Content,
}

// Security is the security requirement in the OpenAPI document of every operation that needs a key.
var Security = []map[string][]string{{"bearer": {}}, {"cookie": {}, "session": {}}}

// Refuse sends a problem as the response of a [huma.StreamResponse].
func Refuse(ctx huma.Context, p *problem.Problem) {
	ctx.SetHeader("Content-Type", p.ContentType(""))
	for name, values := range p.GetHeaders() {
		ctx.SetHeader(name, values[0])
	}
	ctx.SetStatus(p.Status)
	_ = json.NewEncoder(ctx.BodyWriter()).Encode(p) // fails only if the client has disconnected
}
