package front

import (
	"net/http"
	"time"

	eventlog "github.com/perdure/perdure/internal/log"
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
	TransportSSE       = "sse"
	TransportWebSocket = "websocket"
	TransportDurable   = "durable"
	TransportResponses = "responses"

	TransportResponsesSocket = "responses_websocket"
)

// Transports returns all values that an Observer receives as transport.
func Transports() []string {
	return []string{TransportSSE, TransportWebSocket, TransportDurable, TransportResponses, TransportResponsesSocket}
}

// noObserver is the default Observer; it does nothing.
type noObserver struct{}

func (noObserver) Request(string, string, int, time.Duration) {}
func (noObserver) Reading(string) func()                      { return func() {} }
func (noObserver) Delivered(string, time.Duration)            {}

// routeOf returns the pattern that a request matches, so that the number of different values is
// small.
func (f *Front) routeOf(r *http.Request) string {
	if f.tree != nil && f.tree.Owns(r.URL.Path) {
		return f.tree.Route(r)
	}
	return f.mux.Route(r)
}

// Delivered reports the age of an item that is being written. Of several items that are written
// together, only the last counts.
func (f *Front) Delivered(transport string, i eventlog.Item) {
	if i.Live && !i.More && !i.At.IsZero() {
		f.Observer.Delivered(transport, max(0, f.Engine.Store.Now().Sub(i.At.Time)))
	}
}
