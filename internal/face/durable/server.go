// Package durable serves the Durable Streams protocol. It serves the streams that clients write
// (package durablestream) and, below executions/, the logs of executions as read-only streams.
package durable

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/durablestream"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/problem"
	eventlog "github.com/perdure/perdure/internal/log"
)

// executionsPath is the prefix of the stream paths that name logs of executions. It follows
// front.StreamsPath in the URL.
const executionsPath = "executions/"

// server is what the handlers of this package share.
type server struct {
	*front.Front
	Log     *eventlog.Log
	streams *durablestream.Streams // the streams that clients write
}

// Register registers the routes of the streams for all methods. The handler refuses methods that
// the protocol does not have.
func Register(f *front.Front, log *eventlog.Log, streams *durablestream.Streams) {
	s := &server{f, log, streams}
	f.Handle(front.Route{Pattern: front.StreamsPath, Access: front.Client, AnyType: true, Compress: true}, s.serve)
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	c := front.CallerOf(r.Context())
	if r.Method == http.MethodGet && r.URL.Query().Get("live") != "" {
		leave, p := s.Admit(c, front.TransportDurable)
		if p != nil {
			p.Write(w)
			return
		}
		defer leave()
	}
	live, over := s.Supervise(r.Context())
	defer over()
	if err := s.stream(live, w, r, c.Org); err != nil {
		s.fail(w, r, err)
	}
}

// stream responds to a request. The context `live` ends when the server stops or the key is no
// longer valid. The end of `live` stops only reads that wait for new content; stream completes all
// other requests.
func (s *server) stream(live context.Context, w http.ResponseWriter, r *http.Request, org string) error {
	path := strings.TrimPrefix(r.URL.Path, front.StreamsPath)
	reading := durablestream.Reading{
		WriteTimeout: s.WriteTimeout,
		Alive: func() error {
			if err := context.Cause(live); errors.Is(err, front.ErrKeyOver) {
				return err
			}
			return nil
		},
	}
	if id, ok := strings.CutPrefix(path+"/", executionsPath); ok {
		return s.log(live, w, r, org, strings.TrimSuffix(id, "/"), reading)
	}
	return s.streams.Handle(live, w, r, org, path, reading)
}

// fail sends an error response. Some errors contain headers for the response.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	var (
		p       *problem.Problem
		refusal *durablestream.Refusal
	)
	switch {
	case errors.As(err, &refusal):
		p = problem.New(refusal.Code, refusal.Detail)
		p.Status = refusal.Status
		for name, value := range refusal.Header {
			w.Header().Set(name, value)
		}
	case errors.Is(err, front.ErrKeyOver):
		p = problem.New(perdure.Unauthenticated, "the key is unknown or revoked; "+front.HowToGiveKey)
	default:
		p = s.ProblemOf(r.Context(), err)
	}
	p.Write(w)
}

// log serves the log of an execution as a read-only stream.
func (s *server) log(live context.Context, w http.ResponseWriter, r *http.Request, org, name string, c durablestream.Reading) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		p := problem.New(perdure.InvalidArgument, r.Method+" is not possible here: the log of an execution is read-only")
		p.Status = http.StatusMethodNotAllowed
		return p
	}
	x, err := s.Execution(r.Context(), org, name)
	if err != nil {
		return err
	}
	head, err := s.Engine.Read().LogHead(r.Context(), x.ID)
	if err != nil {
		return err
	}
	return durablestream.Serve(live, w, r, &executionLog{s, x.ID, s.Log.Cursor(head)}, c)
}
