package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// bodyValues is the largest number of JSON values in a body, because a body is decoded as a whole.
const bodyValues = 1_000_000

// bodyRules are the limits of every body. The limit of message parts applies to the body of a
// start.
var bodyRules = perdure.DocumentRules{Values: bodyValues, Arrays: perdure.MessageParts}

// unmarshal decodes a body. huma first decodes each body into an any to validate it. In that call,
// the text is checked, and only values as deep as schemas describe are decoded.
func unmarshal(raw []byte, v any) error {
	if _, first := v.(*any); first {
		var refused *perdure.Error
		if errors.As(perdure.CheckDocumentBytes("", raw, bodyRules), &refused) {
			return refusedText(refused.Fields[0])
		}
		raw = shallow(raw)
	}
	return json.Unmarshal(raw, v)
}

// refusedText is an error of unmarshal, encoded as text because huma passes on only the text.
type refusedText perdure.FieldError

func (r refusedText) Error() string { return refusedMark + r.Location + "\n" + r.Message }

// refusedMark is the prefix of the text of a refusedText.
const refusedMark = "refused: "

// init makes huma compare member names exactly. The option is a package variable.
func init() { huma.ValidateStrictCasing = true }

// mending replaces bytes that are not UTF-8 in JSON that an older server has stored. Each Write
// must contain a whole document.
type mending struct{ io.Writer }

func (m mending) Write(p []byte) (int, error) {
	if _, err := m.Writer.Write(perdure.ValidJSON(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

const orgPath = "/api/orgs/{org}"

// humaConfig returns a configuration without huma's additions: no $schema members, no pages.
func humaConfig(version string) huma.Config {
	if version == "" {
		version = "dev"
	}
	plain := huma.Format{
		Marshal: func(w io.Writer, v any) error {
			if is, err := encodeList(mending{w}, v); is {
				return err
			}
			e := json.NewEncoder(mending{w})
			e.SetEscapeHTML(false)
			return e.Encode(v)
		},
		Unmarshal: unmarshal,
	}
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "Perdure", Version: version,
				Description: "A durable runtime for AI agents. Keys go into the Authorization header as a bearer.",
			},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry(schemaPrefix, huma.DefaultSchemaNamer),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"bearer":  {Type: "http", Scheme: "bearer"},
					"cookie":  {Type: "apiKey", In: "cookie", Name: "__Host-perdure", Description: "Half of a session. Without TLS the name is perdure_ and the port."},
					"session": {Type: "apiKey", In: "header", Name: sessionHeader, Description: "The page's half of a session. Each half needs the other."},
				},
			},
		},
		// huma uses "json" for every media type that ends in +json.
		Formats:       map[string]huma.Format{"application/json": plain, "json": plain},
		DefaultFormat: "application/json",
	}
}

// OrgInput is part of every request under an org. The input types are exported because huma ignores
// unexported embedded structs.
type OrgInput struct {
	Org string `path:"org" doc:"The org that the key belongs to; default in dev mode."`
}

// IDInput is the path of one object of an org.
type IDInput struct {
	OrgInput
	ID string `path:"id" doc:"The id, a UUID."`
}

// of returns the id. A malformed id gets the same error as an unknown one.
func (i IDInput) of(what string) (uuid.UUID, error) { return parseID(what, i.ID) }

func parseID(what, text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil || len(text) != 36 {
		return uuid.Nil, perdure.Errorf(perdure.NotFound, "there is no %s %q", what, text)
	}
	return id, nil
}

// PageInput is part of every list request.
type PageInput struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"How many items at most."`
	Cursor string `query:"cursor" doc:"The nextCursor of the page before."`
}

// list is the response body of every list.
type list[T any] struct {
	Items      []T     `json:"items" nullable:"false"`
	NextCursor *string `json:"nextCursor" doc:"Where the next page begins; null at the end."`
}

func listOf[T any](items []T, next string) *body[list[T]] {
	l := list[T]{Items: items}
	if l.Items == nil {
		l.Items = []T{}
	}
	if next != "" {
		l.NextCursor = &next
	}
	return &body[list[T]]{Body: l}
}

// body is a response with the default status of its operation.
type body[T any] struct {
	Body T
}

// nothing is a response without a body.
type nothing struct{}

// on registers an operation under the org's path. Errors become problems.
func on[I, O any](s *server, method, path, id, summary string, do func(context.Context, *I) (*O, error), change ...func(*huma.Operation)) {
	op := huma.Operation{
		Method: method, Path: orgPath + path, OperationID: id, Summary: summary, Tags: []string{tagOf(path)},
		Security:     security,
		MaxBodyBytes: BodyLimit + 1, BodyReadTimeout: time.Minute,
		Middlewares: huma.Middlewares{s.ownOrg},
		Responses:   map[string]*huma.Response{"default": problemResponse, "429": tooMuchResponse},
	}
	for _, f := range change {
		f(&op)
	}
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := do(ctx, in)
		if err != nil {
			return nil, s.problemOf(ctx, err)
		}
		return out, nil
	})
}

func status(code int) func(*huma.Operation) {
	return func(op *huma.Operation) { op.DefaultStatus = code }
}

func adminOnly(s *server) func(*huma.Operation) {
	return func(op *huma.Operation) { op.Middlewares = append(op.Middlewares, s.admin) }
}

var problemResponse = &huma.Response{
	Description: "An error (RFC 9457)",
	Content:     map[string]*huma.MediaType{"application/problem+json": {Schema: &huma.Schema{Ref: "#/components/schemas/Problem"}}},
}

// tooMuchResponse documents 429, which every operation may return because a key's limits are
// checked first.
var tooMuchResponse = &huma.Response{
	Description: "A limit of the key is reached (RFC 9457)",
	Headers: map[string]*huma.Param{"Retry-After": {
		Description: "After how many seconds to ask again.", Required: true, Schema: &huma.Schema{Type: huma.TypeInteger},
	}},
	Content: problemResponse.Content,
}

// security is the requirement of every operation that needs a key.
var security = []map[string][]string{{"bearer": {}}, {"cookie": {}, "session": {}}}

func tagOf(path string) string {
	switch {
	case len(path) >= 5 && path[:5] == "/keys":
		return "Keys"
	case len(path) >= 9 && path[:9] == "/sessions":
		return "Sessions"
	case path == "/audit":
		return "Audit"
	case path == "/retention" || path == prunePath:
		return "Retention"
	case len(path) >= 18 && path[:18] == "/agent-definitions":
		return "Definitions"
	}
	return "Executions"
}

// refuse ends a request in a middleware with a problem.
func (s *server) refuse(ctx huma.Context, p *problem) {
	ctx.SetHeader("Content-Type", p.ContentType(""))
	for name, values := range p.GetHeaders() {
		ctx.SetHeader(name, values[0])
	}
	ctx.SetStatus(p.Status)
	_ = json.NewEncoder(ctx.BodyWriter()).Encode(p) // fails only if the client has disconnected
}

// get registers an operation that reads, like on.
func get[I, O any](s *server, path, id, summary string, do func(context.Context, *I) (*O, error), change ...func(*huma.Operation)) {
	on(s, http.MethodGet, path, id, summary, do, change...)
}
