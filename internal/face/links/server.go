// Package links serves the web pages of question links. Such a page needs no API key and no
// script: the token in its address authenticates the request, and its form answers the question
// with the key that belongs to the link.
package links

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/engine/questions"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/title"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/visible"
)

// server is what the handlers of this package share.
type server struct {
	*front.Front
	wrong attempts
}

// Register registers the routes of the pages.
func Register(f *front.Front) {
	s := &server{Front: f}
	s.Handle(front.Route{Pattern: "GET " + front.LinkRoute}, s.show)
	s.Handle(front.Route{Pattern: "POST " + front.LinkRoute, AnyType: true}, s.answer)
}

// visit is a request for the page of a question link, whose token was found to be valid.
type visit struct {
	*server
	w http.ResponseWriter
	// r is the request. Its context contains the link's key as the actor for the audit log.
	r *http.Request
	*questions.Linked
}

// show sends the page with the question, or with its decision. It changes nothing in the store.
func (s *server) show(w http.ResponseWriter, r *http.Request) {
	v := s.follow(w, r)
	if v == nil {
		return
	}
	switch {
	case v.Open:
		v.ask(http.StatusOK, nil)
	case v.Question.Status.Final():
		v.decided(http.StatusOK)
	default:
		s.ended(w)
	}
}

// follow finds the question to which the request's token leads. If it cannot return the question,
// it sends an error page and returns nil. It does so if the token is unknown, if the link has ended
// or cannot be read, or if the limit of the link's key or of the client's address is exceeded.
func (s *server) follow(w http.ResponseWriter, r *http.Request) *visit {
	address := s.PeerAddress(r)
	if wait := s.wrong.wait(address); wait > 0 {
		s.refuse(w, http.StatusTooManyRequests, wait, "Too many attempts", fmt.Sprintf("Too many addresses were tried from here that lead nowhere. Open the link again in %d s.", seconds(wait)))
		return nil
	}
	l, err := s.Engine.Questions.FollowLink(r.Context(), r.PathValue("token"))
	if errors.Is(err, questions.ErrLinkEnded) {
		s.wrong.count(address)
		s.ended(w)
		return nil
	}
	if err == nil {
		err = s.Engine.Request(l.Key)
	}
	if err != nil {
		s.failed(w, r, err)
		return nil
	}
	actor := s.BrowserIn(w, r).Actor(l.Key.Name, &l.Key.ID)
	ctx := store.ForOrg(store.By(r.Context(), actor), l.Org)
	return &visit{server: s, w: w, r: r.WithContext(ctx), Linked: l}
}

// answer answers the question with the submitted form of the page.
func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	v := s.follow(w, r)
	if v == nil {
		return
	}
	f, err := readForm(w, r)
	if err != nil {
		s.failed(w, r, err)
		return
	}
	if vote := v.stored(f.value("answerId")); vote != nil {
		v.taken(vote.Verdict)
		return
	}
	if v.Question.OnWorker() && f.value("verdict") != string(perdure.VerdictDeny) {
		v.askAway() // without the worker, the server does not know what the fields of the form mean
		return
	}
	request, err := f.answer(v.Linked, r.PathValue("token"))
	if err == nil {
		var reply engine.AnswerReply
		reply, err = s.Engine.Answer(v.r.Context(), v.Org, request)
		v.Question = &reply.Question
	}
	if err != nil {
		v.refused(f, err)
		return
	}
	v.taken(request.Verdict)
}

// stored returns the vote that the link's key has already cast with the given answer id, or nil.
// With this vote, a form that is sent twice gets the same result twice, even if the question's
// details can no longer be read.
func (v *visit) stored(answer string) *perdure.Vote {
	for i := range v.Question.Votes {
		if vote := &v.Question.Votes[i]; vote.AnswerID == answer && vote.KeyID != nil && *vote.KeyID == v.Key.ID {
			return vote
		}
	}
	return nil
}

// refused responds to a vote that was not accepted. If the question can still be answered, the page
// shows its current state.
func (v *visit) refused(f form, err error) {
	now, again := v.Engine.Questions.FollowLink(v.r.Context(), v.r.PathValue("token"))
	var coded *perdure.Error
	switch {
	case errors.Is(again, questions.ErrLinkEnded):
		v.ended(v.w)
		return
	case again != nil:
		v.failed(v.w, v.r, again)
		return
	}
	v.Linked = now
	switch {
	case now.Question.Status.Final():
		v.decided(http.StatusConflict)
	case !now.Open:
		v.ended(v.w)
	case perdure.IsCode(err, perdure.DetailsChanged):
		v.ask(http.StatusConflict, &form{problem: "The question has changed since this page was opened, so nothing was answered. Read it again."})
	case errors.As(err, &coded) && coded.Code == perdure.InvalidArgument:
		f.problem = coded.Message
		v.ask(http.StatusBadRequest, &f)
	case now.Question.OnWorker() && perdure.IsCode(err, perdure.Unavailable):
		v.askAway()
	default:
		v.failed(v.w, v.r, err)
	}
}

// askAway sends the page of the question again, with the message that the execution's worker is
// not connected.
func (v *visit) askAway() {
	v.ask(http.StatusServiceUnavailable, &form{problem: "The question could not be answered, because the worker of the run is not connected now."})
}

// failed sends an error page for an error that is not about the question.
func (s *server) failed(w http.ResponseWriter, r *http.Request, err error) {
	p := s.ProblemOf(r.Context(), err)
	s.refuse(w, p.Status, p.RetryAfter, "That did not work", p.Detail)
}

// titleOf returns the title of the execution with the id.
func (v *visit) titleOf(id uuid.UUID) (string, error) {
	found, err := v.Engine.Read().Outlines(v.r.Context(), v.Org, []uuid.UUID{id})
	if err != nil {
		return "", err
	}
	return visible.Inline(title.Of(found[id].Input, "")), nil
}
