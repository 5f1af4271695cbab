package face

import (
	"net/http"

	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/openai"
	"github.com/perdure/perdure/internal/face/problem"
	eventlog "github.com/perdure/perdure/internal/log"
)

// openAI adapts the OpenAI-compatible API to a [front.Tree], because the errors of this API have
// a different JSON shape from Perdure's problems.
type openAI struct {
	*openai.API
	front *front.Front
}

func mountOpenAI(f *front.Front, log *eventlog.Log) {
	o := &openAI{front: f}
	o.API = openai.New(openai.Config{
		Engine: f.Engine, Log: log, Logger: f.Logger, Stop: f.Stop, Read: o.admitReader, PingEvery: f.PingEvery, WriteTimeout: f.WriteTimeout,
		Recheck: f.Recheck, Voter: f.Voter, Admit: o.admitSocket, Subprotocol: front.SocketProtocol, FrameTimeout: f.BodyTimeout,
	})
	f.Mount(o)
}

// Owns implements [front.Tree].
func (o *openAI) Owns(path string) bool { return openai.Owns(path) }

// Refuse implements [front.Tree].
func (o *openAI) Refuse(w http.ResponseWriter, p *problem.Problem) { errorOf(p).WriteTo(w) }

// ServeHTTP implements [front.Tree]. The request acts on the caller's org.
func (o *openAI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := openai.WithOrg(r.Context(), front.CallerOf(r.Context()).Org)
	o.API.ServeHTTP(w, r.WithContext(ctx))
}

// admitReader counts the caller's open reads of streamed responses, and refuses a new one if there
// are too many. The function `leave` must be called at the end of the read.
func (o *openAI) admitReader(r *http.Request) (leave func(), refused *openai.Error) {
	leave, p := o.front.Admit(front.CallerOf(r.Context()), front.TransportResponses)
	if p != nil {
		return nil, errorOf(p)
	}
	return leave, nil
}

// admitSocket decides whether a request may open a WebSocket for responses.
func (o *openAI) admitSocket(r *http.Request) (openai.Admission, *openai.Error) {
	if p := o.front.ForeignSocket(r); p != nil {
		return openai.Admission{}, errorOf(p)
	}
	leave, p := o.front.Admit(front.CallerOf(r.Context()), front.TransportResponsesSocket)
	if p != nil {
		return openai.Admission{}, errorOf(p)
	}
	ctx, over := o.front.Supervise(r.Context())
	return openai.Admission{
		Context: ctx,
		Count:   func() error { return o.front.CountRequest(ctx) },
		Leave:   func() { over(); leave() },
	}, nil
}

// errorOf converts a problem to the error shape of the OpenAI API.
func errorOf(p *problem.Problem) *openai.Error {
	return openai.ErrorOf(p.Code, p.Status, p.Detail, p.Errors...).After(p.RetryAfter)
}
