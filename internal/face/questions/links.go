package questions

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/questions"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/operation"
)

func (s *server) linkRoutes() {
	g := operation.Group{API: s.API, Tag: "Questions"} // only admins may use these operations
	operation.On(g, http.MethodPost, "/questions/{id}/links", "createQuestionLink",
		"Make a link with which a key answers the question without signing in; its address is shown this once", s.createLink, operation.Status(201))
	operation.Get(g, "/questions/{id}/links", "listQuestionLinks", "List the links to a question, newest first, without their addresses", s.listLinks)
	operation.On(g, http.MethodDelete, "/questions/{id}/links", "revokeQuestionLinks", "Revoke the links to a question", s.revokeLinks, operation.Status(204))
}

type createLinkInput struct {
	operation.IDInput
	Body struct {
		KeyID   string `json:"keyId" doc:"The key that votes with the link. It must be one that may answer the question now."`
		Expires string `json:"expires,omitempty" doc:"How long the link works, such as 24h, which is the default; at most 168h."`
	}
	request *http.Request
}

// Resolve implements [huma.Resolver].
func (i *createLinkInput) Resolve(hc huma.Context) []error {
	i.request, _ = humago.Unwrap(hc)
	return nil
}

// newLink is a link that was just created, with the address that contains its secret.
type newLink struct {
	perdure.QuestionLink
	URL string `json:"url" doc:"The address. It is not shown again. Whoever has it can answer the question."`
}

func (s *server) createLink(ctx context.Context, in *createLinkInput) (*operation.Body[newLink], error) {
	id, err := idOf(in.IDInput)
	if err != nil {
		return nil, err
	}
	r := questions.LinkRequest{Question: id, Life: perdure.LinkLife}
	if r.Key, err = keyID(in.Body.KeyID); err != nil {
		return nil, err
	}
	if in.Body.Expires != "" {
		if r.Life, err = time.ParseDuration(in.Body.Expires); err != nil || r.Life <= 0 {
			return nil, perdure.FieldErrorf("expires", "%q must be a duration such as 24h", in.Body.Expires)
		}
	}
	base := s.BaseURL(in.request)
	if base == nil {
		return nil, perdure.Errorf(perdure.Conflict, "this process serves no pages, so nobody could open the link; start a server (perdure server or perdure dev) and ask it for the link")
	}
	link, token, err := s.Engine.Questions.CreateLink(ctx, in.Org, r)
	if err != nil {
		return nil, err
	}
	return operation.BodyOf(newLink{*link, base.JoinPath(perdure.LinkPath, token).String()}), nil
}

func keyID(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil || len(text) != 36 {
		return id, perdure.FieldErrorf("keyId", "must be the id of a key; perdure keys list shows them")
	}
	return id, nil
}

func (s *server) listLinks(ctx context.Context, in *operation.IDInput) (*operation.Body[operation.List[*perdure.QuestionLink]], error) {
	id, err := idOf(*in)
	if err != nil {
		return nil, err
	}
	q, err := s.Engine.Read().Question(ctx, in.Org, id)
	if err != nil {
		return nil, err
	}
	links, err := s.Engine.Read().Links(ctx, q.ExecutionID, id)
	if err != nil {
		return nil, err
	}
	return operation.ListOf(links, ""), nil
}

type revokeLinksInput struct {
	operation.IDInput
	KeyID string `query:"keyId" doc:"Only the links of this key."`
}

func (s *server) revokeLinks(ctx context.Context, in *revokeLinksInput) (*operation.Nothing, error) {
	if err := checkQuery(front.QueryOf(ctx), "keyId"); err != nil {
		return nil, err
	}
	id, err := idOf(in.IDInput)
	if err != nil {
		return nil, err
	}
	if in.KeyID == "" {
		return nil, s.Engine.Questions.RevokeLinks(ctx, in.Org, id, nil)
	}
	key, err := keyID(in.KeyID)
	if err != nil {
		return nil, err
	}
	return nil, s.Engine.Questions.RevokeLinks(ctx, in.Org, id, &key)
}
