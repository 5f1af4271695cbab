package front

import (
	"net/http"
	"time"

	eventlog "github.com/perdure/perdure/internal/log"
)

// Observer receives metrics of requests and of the readers of streams. Its methods are called
// concurrently and must not block.
type Observer interface {
	// Request reports a response. The parameter `route` is the matched pattern without the method,
	// or "". For a stream that continues after its handler has returned, Request is called when the
	// stream starts.
	Request(method, route string, status int, took time.Duration)
	// Reading reports that a reader has begun to follow a log. The function `left` is called when
	// the reader stops.
	Reading(transport string) (left func())
	// Delivered reports how old an event was when it was written to a reader. It is called only for
	// readers that follow the end of the log, not for those that still read older events.
	Delivered(transport string, age time.Duration)
}

// Transports are the ways in which readers follow logs.
const (
	TransportSSE       = "sse"
	TransportWebSocket = "websocket"
	TransportDurable   = "durable"
	TransportResponses = "responses"

	TransportResponsesSocket = "responses_websocket"
)

// Transports returns all values of the parameter `transport` of the methods of an Observer.
func Transports() []string {
	return []string{TransportSSE, TransportWebSocket, TransportDurable, TransportResponses, TransportResponsesSocket}
}

// noObserver is the default Observer; it does nothing.
type noObserver struct{}

func (noObserver) Request(string, string, int, time.Duration) {}
func (noObserver) Reading(string) func()                      { return func() {} }
func (noObserver) Delivered(string, time.Duration)            {}

// routeOf returns the pattern that a request matches. A metric with patterns instead of paths has
// few different values.
func (f *Front) routeOf(r *http.Request) string {
	if t := f.treeOf(r); t != nil {
		return t.Route(r)
	}
	return f.mux.Route(r)
}

// Delivered reports the age of a log item that is being written to a reader. Of items that are
// written together, it reports only the last one. It reports no item to a reader that still reads
// older events.
func (f *Front) Delivered(transport string, i eventlog.Item) {
	if i.Live && !i.More && !i.At.IsZero() {
		f.Observer.Delivered(transport, max(0, f.Engine.Store.Now().Sub(i.At.Time)))
	}
}
