package httpapi

import (
	"net/http"
	"time"

	"github.com/perdure/perdure/internal/eventlog"
	"github.com/perdure/perdure/internal/openaiapi"
)

// Observer receives metrics of requests and of the readers of streams. Its methods are called
// concurrently and must not block.
type Observer interface {
	// Request reports a response. route is the matched pattern without the method; "" if none
	// matched. For a stream that outlives its request, it is called when the stream starts.
	Request(method, route string, status int, took time.Duration)
	// Reading reports that a reader follows a log over the transport until left is called.
	Reading(transport string) (left func())
	// Delivered reports the age of an event when it was written to a reader that had caught up
	// before.
	Delivered(transport string, age time.Duration)
}

// Transports: the ways in which readers follow logs.
const (
	transportSSE       = "sse"
	transportWebSocket = "websocket"
	transportDurable   = "durable"
	transportResponses = "responses"

	transportResponsesSocket = "responses_websocket"
)

// Transports returns all values that an Observer receives as transport.
func Transports() []string {
	return []string{transportSSE, transportWebSocket, transportDurable, transportResponses, transportResponsesSocket}
}

// nobody is the default Observer; it does nothing.
type nobody struct{}

func (nobody) Request(string, string, int, time.Duration) {}
func (nobody) Reading(string) func()                      { return func() {} }
func (nobody) Delivered(string, time.Duration)            {}

// routeOf returns the pattern that a request matches, so that the number of different values is
// small.
func (s *server) routeOf(r *http.Request) string {
	if openaiapi.Owns(r.URL.Path) {
		return s.ai.Route(r)
	}
	_, pattern := s.mux.Handler(r)
	return openaiapi.WithoutMethod(pattern)
}

// delivered reports the age of an item that is being written. Of several items that are written
// together, only the last counts.
func (s *server) delivered(transport string, i eventlog.Item) {
	if i.Live && !i.More && !i.At.IsZero() {
		s.Observer.Delivered(transport, max(0, s.Engine.Store.Now().Sub(i.At.Time)))
	}
}
