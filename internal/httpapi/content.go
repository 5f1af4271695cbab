package httpapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// contentRef refers to content that was uploaded before.
type contentRef struct {
	BlobID uuid.UUID `json:"blobId" format:"uuid"`
}

// content is the response to an upload.
type content struct {
	BlobID uuid.UUID    `json:"blobId" format:"uuid"`
	Length int64        `json:"length"`
	SHA256 perdure.Hash `json:"sha256"`
}

const contentPath = "/agent-executions/{id}/content"

// contentRoute registers the upload of content. It bypasses huma, which reads bodies whole, because
// the body is streamed into the store. The OpenAPI document describes it.
func (s *server) contentRoute() {
	s.mux.HandleFunc("PUT "+orgPath+contentPath, s.putContent)
	s.api.OpenAPI().AddOperation(&huma.Operation{
		Method: http.MethodPut, Path: orgPath + contentPath, OperationID: "putContent", Tags: []string{"Executions"},
		Summary:     "Upload content that a signal names then; any JSON, to the server's limit. It is deleted if nothing names it within an hour.",
		Security:    security,
		Parameters:  []*huma.Param{pathParam("org"), pathParam("id")},
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{}}}},
		Responses: map[string]*huma.Response{
			"200": {
				Description: "It is stored.",
				Content:     map[string]*huma.MediaType{"application/json": {Schema: contentSchema}},
			},
			"default": problemResponse, "429": tooMuchResponse,
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

// isContent reports whether the request uploads content; the limit of other bodies does not apply
// to it.
func isContent(r *http.Request) bool {
	return r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/content")
}

func (s *server) putContent(w http.ResponseWriter, r *http.Request) {
	if p := strange(callerOf(r.Context()), r.PathValue("org")); p != nil {
		p.write(w)
		return
	}
	out, err := s.takeContent(r, w)
	if err != nil {
		s.problemOf(r.Context(), err).write(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out) // fails only if the client has disconnected
}

func (s *server) takeContent(r *http.Request, w http.ResponseWriter) (*content, error) {
	id, err := parseID("execution", r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if r.ContentLength < 0 {
		return nil, perdure.FieldErrorf("Content-Length", "must say how many bytes the content has")
	}
	// An upload may take any time as long as data keeps arriving.
	body := &patient{r: r, c: http.NewResponseController(w)}
	ref, err := s.Engine.PutContent(r.Context(), r.PathValue("org"), id, r.ContentLength, body)
	if err != nil {
		return nil, err
	}
	return &content{BlobID: ref.ID, Length: ref.Length, SHA256: ref.SHA256}, nil
}

// patient reads a request body and allows one minute for each read.
type patient struct {
	r *http.Request
	c *http.ResponseController
}

func (p *patient) Read(b []byte) (int, error) {
	_ = p.c.SetReadDeadline(time.Now().Add(time.Minute)) // without a deadline, the read may block forever
	return p.r.Body.Read(b)
}
