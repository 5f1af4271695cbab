package httpapi

import (
	"net/http"
	"time"

	"github.com/perdure/perdure/internal/openaiapi"
)

func (s *server) openAI() {
	s.ai = openaiapi.New(openaiapi.Config{
		Engine: s.Engine, Log: s.Log, Logger: s.Logger, Stop: s.Stop, Reading: func() func() { return s.Observer.Reading(transportResponses) }, PingEvery: s.PingEvery, WriteTimeout: s.WriteTimeout,
		Recheck: func(r *http.Request) func() error {
			key := recheck{s: s, at: time.Now()}
			return func() error { return key.still(r.Context()) }
		},
	})
}

// serveOpenAI is serve for the OpenAI-compatible API, whose errors have a shape
// of their own. The org is the key's.
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

// asOpenAI is the problem in the shape that OpenAI's clients read.
func (p *problem) asOpenAI() *openaiapi.Error {
	return openaiapi.ErrorOf(p.Code, p.Status, p.Detail, p.Errors...).After(p.retryAfter)
}
