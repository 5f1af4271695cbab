package rest

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/operation"
)

// contentRef refers to content that was uploaded before the request that contains the reference.
type contentRef struct {
	BlobID uuid.UUID `json:"blobId" format:"uuid"`
}

// uploadReply is the body of the response to an upload.
type uploadReply struct {
	BlobID uuid.UUID    `json:"blobId" format:"uuid"`
	Length int64        `json:"length"`
	SHA256 perdure.Hash `json:"sha256"`
}

const contentPath = "/agent-executions/{id}/content"

// contentRoute registers the route for uploads of content. The route does not use huma, which reads
// complete bodies into memory. It is added to the OpenAPI document separately.
func (s *server) contentRoute() {
	s.Handle(front.Route{Pattern: "PUT " + front.OrgPath + contentPath, Access: front.Client, Upload: true}, s.putContent)
	s.Describe(&huma.Operation{
		Method: http.MethodPut, Path: front.OrgPath + contentPath, OperationID: "putContent", Tags: []string{"Executions"},
		Summary:     "Upload content that a signal names then; any JSON, to the server's limit. It is deleted if nothing names it within an hour.",
		Security:    operation.Security,
		Parameters:  []*huma.Param{pathParam("org"), pathParam("id")},
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{}}}},
		Responses: map[string]*huma.Response{
			"200": {
				Description: "It is stored.",
				Content:     map[string]*huma.MediaType{"application/json": {Schema: contentSchema}},
			},
			"default": operation.ProblemResponse, "429": operation.TooMuchResponse,
		},
	})
}

func pathParam(name string) *huma.Param {
	return &huma.Param{Name: name, In: "path", Required: true, Schema: &huma.Schema{Type: "string"}}
}

var contentSchema = &huma.Schema{
	Type: "object", Required: []string{"blobId", "length", "sha256"},
	Properties: map[string]*huma.Schema{
		"blobId": {Type: "string", Format: "uuid"},
		"length": {Type: "integer", Format: "int64"},
		"sha256": {Type: "string", Description: "Hexadecimal."},
	},
}

func (s *server) putContent(w http.ResponseWriter, r *http.Request) {
	out, err := s.takeContent(r, w)
	if err != nil {
		s.ProblemOf(r.Context(), err).Write(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out) // fails only if the client has disconnected
}

func (s *server) takeContent(r *http.Request, w http.ResponseWriter) (*uploadReply, error) {
	id, err := front.ParseID("execution", r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if r.ContentLength < 0 {
		return nil, perdure.FieldErrorf("Content-Length", "must say how many bytes the content has")
	}
	// An upload may take any time as long as data keeps arriving.
	body := &uploadReader{r: r, c: http.NewResponseController(w)}
	ref, err := s.Engine.PutContent(r.Context(), r.PathValue("org"), id, r.ContentLength, body)
	if err != nil {
		return nil, err
	}
	return &uploadReply{BlobID: ref.ID, Length: ref.Length, SHA256: ref.SHA256}, nil
}

// uploadReader reads a request body and allows one minute for each read.
type uploadReader struct {
	r *http.Request
	c *http.ResponseController
}

func (p *uploadReader) Read(b []byte) (int, error) {
	_ = p.c.SetReadDeadline(time.Now().Add(time.Minute)) // if this fails, the read may block forever
	return p.r.Body.Read(b)
}
