package operation

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/face/front"
)

// OrgInput is a part of the input of every operation on an org. The input types are exported
// because huma ignores unexported embedded structs.
type OrgInput struct {
	Org string `path:"org" doc:"The org that the key belongs to; default in dev mode."`
}

// IDInput is the input of an operation whose path contains the id of an object.
type IDInput struct {
	OrgInput
	ID string `path:"id" doc:"The id, a UUID."`
}

// Of parses the id. The error for a malformed id is the same as for an unknown id. The parameter
// `what` names the kind of the object in this error.
func (i IDInput) Of(what string) (uuid.UUID, error) { return front.ParseID(what, i.ID) }

// PageInput is a part of the input of every list.
type PageInput struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"How many items at most."`
	Cursor string `query:"cursor" doc:"The nextCursor of the page before."`
}

// List is the response body of every list.
type List[T any] struct {
	Items      []T     `json:"items" nullable:"false"`
	NextCursor *string `json:"nextCursor" doc:"Where the next page begins; null at the end."`
}

// ListOf returns a page of a list. The parameter `next` is the cursor of the next page, or "" at
// the end.
func ListOf[T any](items []T, next string) *Body[List[T]] {
	l := List[T]{Items: items}
	if l.Items == nil {
		l.Items = []T{}
	}
	if next != "" {
		l.NextCursor = &next
	}
	return BodyOf(l)
}

// Body is a response that has a body and the default status of its operation.
type Body[T any] struct {
	Body T
}

// BodyOf returns a response with v as its body.
func BodyOf[T any](v T) *Body[T] { return &Body[T]{Body: v} }

// Nothing is a response without a body.
type Nothing struct{}
