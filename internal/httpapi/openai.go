package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/perdure/perdure/internal/openaiapi"
)

func (s *server) openAI() {
	s.ai = openaiapi.New(openaiapi.Config{
		Engine: s.Engine, Log: s.Log, Logger: s.Logger, Stop: s.Stop, Read: s.admitReader, PingEvery: s.PingEvery, WriteTimeout: s.WriteTimeout,
		Recheck: func(r *http.Request) func() error {
			key := recheck{s: s, at: time.Now()}
			return func() error { return key.still(r.Context()) }
		},
		Admit: s.admitSocket, Subprotocol: socketProtocol, FrameTimeout: s.BodyTimeout,
	})
}

// serveOpenAI serves the OpenAI-compatible API, whose errors have a different shape. The org is the
// key's org.
func (s *server) serveOpenAI(w http.ResponseWriter, r *http.Request) {
	if p := s.misdirected(r); p != nil {
		p.asOpenAI().WriteTo(w)
		return
	}
	if s.cors(w, r) {
		return
	}
	c, p := s.authenticate(r)
	if p == nil {
		p = strange(c, c.org)
	}
	if p != nil {
		p.asOpenAI().WriteTo(w)
		return
	}
	if r.ContentLength > BodyLimit {
		tooLarge().asOpenAI().WriteTo(w)
		return
	}
	ctx := s.onBehalf(r.Context(), w, r, c)
	s.ai.ServeHTTP(w, r.WithContext(openaiapi.WithOrg(ctx, c.org)))
}

// admitReader admits a caller as the reader of a response.
func (s *server) admitReader(r *http.Request) (leave func(), refused *openaiapi.Error) {
	leave, p := s.admit(callerOf(r.Context()), transportResponses)
	if p != nil {
		return nil, p.asOpenAI()
	}
	return leave, nil
}

// admitSocket lets a caller open a WebSocket of responses.
func (s *server) admitSocket(r *http.Request) (openaiapi.Admission, *openaiapi.Error) {
	c := callerOf(r.Context())
	p := s.foreignSocket(r, c)
	if p != nil {
		return openaiapi.Admission{}, p.asOpenAI()
	}
	leave, p := s.admit(c, transportResponsesSocket)
	if p != nil {
		return openaiapi.Admission{}, p.asOpenAI()
	}
	ctx, over := s.watch.enter(r.Context())
	return openaiapi.Admission{
		Context: ctx,
		Count:   func() error { return s.countRequest(ctx, c) },
		Leave:   func() { over(); leave() },
	}, nil
}

// countRequest counts a request that arrives over an open connection.
func (s *server) countRequest(ctx context.Context, c caller) error {
	key, _, err := s.vouch(ctx, c.proof)
	if err != nil {
		return err
	}
	return s.Engine.Request(key)
}

// asOpenAI converts the problem to the error shape of the OpenAI API.
func (p *problem) asOpenAI() *openaiapi.Error {
	return openaiapi.ErrorOf(p.Code, p.Status, p.Detail, p.Errors...).After(p.retryAfter)
}
