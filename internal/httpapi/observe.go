package httpapi

import (
	"net/http"
	"time"

	"github.com/perdure/perdure/internal/eventlog"
	"github.com/perdure/perdure/internal/openaiapi"
)

// Observer is told of requests and of the readers of streams. Its methods are
// called by many goroutines at once and must not block.
type Observer interface {
	// Request was answered; route is the pattern that it matched, without the
	// method, "" if none. Of a stream that outlives its request it is told when the
	// stream begins.
	Request(method, route string, status int, took time.Duration)
	// Reading says that a reader follows a log over the transport, until it calls
	// the function that it is given.
	Reading(transport string) (left func())
	// Delivered says how old an event was when it was written to a reader that
	// had caught up before.
	Delivered(transport string, age time.Duration)
}

// How readers follow logs.
const (
	transportSSE       = "sse"
	transportWebSocket = "websocket"
	transportDurable   = "durable"
	transportResponses = "responses"

	transportResponsesSocket = "responses_websocket"
)

// Transports are all the values that an Observer is given for one.
func Transports() []string {
	return []string{transportSSE, transportWebSocket, transportDurable, transportResponses, transportResponsesSocket}
}

// nobody is the Observer where there is none.
type nobody struct{}

func (nobody) Request(string, string, int, time.Duration) {}
func (nobody) Reading(string) func()                      { return func() {} }
func (nobody) Delivered(string, time.Duration)            {}

// routeOf is the pattern that a request matches: one of a few, whatever it asks
// for.
func (s *server) routeOf(r *http.Request) string {
	if openaiapi.Owns(r.URL.Path) {
		return s.ai.Route(r)
	}
	_, pattern := s.mux.Handler(r)
	return openaiapi.WithoutMethod(pattern)
}

// delivered reports how old an item is that is written now. Of several that are
// written together the last one counts.
func (s *server) delivered(transport string, i eventlog.Item) {
	if i.Live && !i.More && !i.At.IsZero() {
		s.Observer.Delivered(transport, max(0, s.Engine.Store.Now().Sub(i.At.Time)))
	}
}
