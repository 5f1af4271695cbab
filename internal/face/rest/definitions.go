package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/operation"
)

// definitionBody is a definition as a client sends it. Members that only the server sets are
// accepted and ignored, so that a client can send back a definition that the server has sent.
type definitionBody struct {
	Name         string                     `json:"name" minLength:"1" maxLength:"200"`
	Slug         string                     `json:"slug,omitempty" doc:"Unique in the org; made from the name if left out."`
	Description  string                     `json:"description,omitempty"`
	SystemPrompt string                     `json:"systemPrompt,omitempty"`
	Models       []perdure.ModelConfig      `json:"models" nullable:"false" minItems:"1"`
	Tools        []string                   `json:"tools,omitempty"`
	Config       perdure.AgentConfig        `json:"config,omitempty"`
	Approvals    json.RawMessage            `json:"approvals,omitempty" doc:"Which tool calls of its executions run, and which people must approve: a list of rules (the schema ApprovalRule; the first that fits a call decides), or allow, edits, ask or confined."`
	Metadata     map[string]json.RawMessage `json:"metadata,omitempty" doc:"Up to 16 KiB."`
	Retention    *periods                   `json:"retention,omitempty" doc:"How long executions that start from it keep things; what is not said is the org's to say."`

	ID        any `json:"id,omitempty" readOnly:"true"`
	CreatedAt any `json:"createdAt,omitempty" readOnly:"true"`
	UpdatedAt any `json:"updatedAt,omitempty" readOnly:"true"`
	Version   any `json:"version,omitempty" readOnly:"true"`
}

func (b definitionBody) definition() (perdure.Definition, error) {
	metadata, err := objectOf(b.Metadata)
	if err != nil {
		return perdure.Definition{}, err
	}
	policy, err := policyOf(b.Approvals)
	if err != nil {
		return perdure.Definition{}, err
	}
	keep, err := b.Retention.policy()
	return perdure.Definition{
		Name: b.Name, Slug: b.Slug, Description: b.Description, SystemPrompt: b.SystemPrompt,
		Models: b.Models, Tools: b.Tools, Config: b.Config, Metadata: metadata, Retention: keep, Approvals: policy,
	}, err
}

// objectOf encodes metadata as a JSON object. A nil map becomes an empty object.
func objectOf(members map[string]json.RawMessage) (json.RawMessage, error) {
	if members == nil {
		return json.RawMessage("{}"), nil
	}
	raw, err := json.Marshal(members)
	if err != nil {
		return nil, perdure.FieldErrorf("metadata", "does not encode: %v", err)
	}
	return raw, nil
}

type definitionOutput struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     *perdure.Definition
}

func definitionReply(d *perdure.Definition) *definitionOutput {
	return &definitionOutput{ETag: strconv.Quote(strconv.FormatInt(d.Version, 10)), Body: d}
}

type createDefinitionInput struct {
	operation.OrgInput
	Body definitionBody
}

type putDefinitionInput struct {
	operation.IDInput
	IfMatch string `header:"If-Match" doc:"The version that is to be replaced; another one is answered with conflict."`
	Body    definitionBody
}

type listInput struct {
	operation.OrgInput
	operation.PageInput
}

func (s *server) definitionRoutes() {
	g := operation.Group{API: s.API, Access: front.Client, Tag: "Definitions", Compress: true}
	operation.On(g, http.MethodPost, "/agent-definitions", "createDefinition", "Store an agent definition", s.createDefinition, operation.Status(201))
	operation.Get(g, "/agent-definitions", "listDefinitions", "List the agent definitions", s.listDefinitions)
	operation.Get(g, "/agent-definitions/{id}", "getDefinition", "Get an agent definition", s.getDefinition)
	operation.On(g, http.MethodPut, "/agent-definitions/{id}", "putDefinition", "Replace an agent definition", s.putDefinition)
	operation.On(g, http.MethodDelete, "/agent-definitions/{id}", "deleteDefinition", "Delete an agent definition; executions keep their copy", s.deleteDefinition, operation.Status(204))
}

func (s *server) createDefinition(ctx context.Context, in *createDefinitionInput) (*definitionOutput, error) {
	d, err := in.Body.definition()
	if err != nil {
		return nil, err
	}
	made, err := s.storeDefinition(ctx, in.Org, d)
	if err != nil {
		return nil, err
	}
	out := definitionReply(made)
	out.Location = fmt.Sprintf("/api/orgs/%s/agent-definitions/%s", in.Org, made.ID)
	return out, nil
}

// namesTried is the number of slugs that storeDefinition tries before it appends a random suffix to
// the name: the name itself, then the name with the number 2, 3 and so on (name-2, name-3 ...).
const namesTried = 9

// storeDefinition stores a definition. A definition without a slug gets an unused slug that is
// derived from its name.
func (s *server) storeDefinition(ctx context.Context, org string, d perdure.Definition) (*perdure.Definition, error) {
	if d.Slug != "" {
		return s.Engine.Definitions.Create(ctx, org, d)
	}
	base := slugOf(d.Name)
	for n := 1; ; n++ {
		switch {
		case n == 1:
			d.Slug = base
		case n <= namesTried:
			d.Slug = fmt.Sprintf("%s-%d", base, n)
		default:
			d.Slug = base + "-" + uuid.NewString()[:8]
		}
		made, err := s.Engine.Definitions.Create(ctx, org, d)
		if !perdure.IsCode(err, perdure.AlreadyExists) || n > 2*namesTried {
			return made, err
		}
	}
}

// slugOf converts a name to lower-case words that are joined by dashes.
func slugOf(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			b.WriteRune(r)
		} else if b.Len() > 0 && !strings.HasSuffix(b.String(), "-") {
			b.WriteByte('-')
		}
		if b.Len() >= 80 {
			break
		}
	}
	if slug := strings.Trim(b.String(), "-"); slug != "" {
		return slug
	}
	return "agent"
}

func (s *server) listDefinitions(ctx context.Context, in *listInput) (*operation.Body[operation.List[*perdure.Definition]], error) {
	p, err := s.readWhole().Definitions(ctx, in.Org, in.Cursor, in.Limit)
	if err != nil {
		return nil, err
	}
	return operation.ListOf(p.Items, p.Next), nil
}

func (s *server) getDefinition(ctx context.Context, in *operation.IDInput) (*definitionOutput, error) {
	id, err := in.Of("agent definition")
	if err != nil {
		return nil, err
	}
	d, err := s.readWhole().Definition(ctx, in.Org, id)
	if err != nil {
		return nil, err
	}
	return definitionReply(d), nil
}

func (s *server) putDefinition(ctx context.Context, in *putDefinitionInput) (*definitionOutput, error) {
	id, err := in.Of("agent definition")
	if err != nil {
		return nil, err
	}
	version, err := versionOf(in.IfMatch)
	if err != nil {
		return nil, err
	}
	d, err := in.Body.definition()
	if err != nil {
		return nil, err
	}
	d.ID = id
	if d.Slug == "" {
		known, err := s.readWhole().Definition(ctx, in.Org, id)
		if err != nil {
			return nil, err
		}
		d.Slug = known.Slug
	}
	stored, err := s.Engine.Definitions.Update(ctx, in.Org, d, version)
	if err != nil {
		return nil, err
	}
	return definitionReply(stored), nil
}

// versionOf parses the value of an If-Match header: a version, which may be quoted like an ETag.
// For an empty header, or the value *, the result is 0, which means any version.
func versionOf(match string) (int64, error) {
	match = strings.Trim(strings.TrimPrefix(strings.TrimSpace(match), "W/"), `"`)
	if match == "" || match == "*" {
		return 0, nil
	}
	version, err := strconv.ParseInt(match, 10, 64)
	if err != nil || version < 1 {
		return 0, perdure.FieldErrorf("If-Match", "must be a version, as in the member version")
	}
	return version, nil
}

func (s *server) deleteDefinition(ctx context.Context, in *operation.IDInput) (*operation.Nothing, error) {
	id, err := in.Of("agent definition")
	if err != nil {
		return nil, err
	}
	return nil, s.Engine.Definitions.Delete(ctx, in.Org, id)
}
