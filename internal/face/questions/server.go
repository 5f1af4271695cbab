// Package questions serves the questions of an org: lists, single questions with their details,
// answers, a stream of changes, grants, and the creation of links to questions.
package questions

import (
	"net/http"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/operation"
	"github.com/perdure/perdure/internal/questionfeed"
	"github.com/perdure/perdure/internal/sharedread"
)

// server is what the handlers of this package share.
type server struct {
	*operation.API
	feeds *questionfeed.Feeds
	// changed lets streams that read the same question at the same time share one read.
	changed sharedread.Reads[uuid.UUID, *perdure.Question]
}

// Register registers the operations of this package.
func Register(a *operation.API, feeds *questionfeed.Feeds) {
	s := &server{API: a, feeds: feeds}
	g := operation.Group{API: a, Access: front.Approver, Tag: "Questions", Compress: true}
	operation.Get(g, "/questions", "listQuestions", "List the questions of runs, newest first", s.list)
	operation.Get(g, "/questions/{id}", "getQuestion", "Get a question with its details", s.get, asQuestion)
	operation.Get(g, "/questions/{id}/details", "getQuestionDetails", "Get the details of a question, byte by byte", s.details, asDetails)
	operation.On(g, http.MethodPost, "/questions/{id}/answer", "answerQuestion",
		"Answer a question. It is 409 question_decided once the question is decided; the problem has the question", s.answer)
	clients := operation.Group{API: a, Access: front.Client, Tag: "Questions"}
	operation.Get(clients, "/approval-grants", "listApprovalGrants", "List the approvals that also answer later questions, newest first", s.listGrants)
	operation.On(clients, http.MethodDelete, "/approval-grants/{id}", "revokeApprovalGrant",
		"Revoke a grant. Questions that it has answered stay answered", s.revokeGrant, operation.Status(204))
	s.linkRoutes()
	g.Compress = false
	operation.Get(g, "/questions/stream", "streamQuestions", "Follow the questions (SSE): the open ones, then each that changes", s.stream, asStream)
}

// idOf parses the id of a question in the path of a request.
func idOf(in operation.IDInput) (uuid.UUID, error) { return in.Of("question") }

// checkQuery refuses query parameters that are not in the parameter `known`, because a misspelt
// filter must not be ignored.
func checkQuery(query map[string][]string, known ...string) error {
	for name := range query {
		found := false
		for _, k := range known {
			found = found || k == name
		}
		if !found {
			return perdure.FieldErrorf(name, "is not a parameter of this list; there are %v", known)
		}
	}
	return nil
}
