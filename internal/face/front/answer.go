package front

import (
	"net/http"
	"time"

	"github.com/perdure/perdure/internal/fair"
)

// answer is the response writer of a request. It records whether the response has started. It sets
// a write deadline for each piece of the response, because otherwise a client that does not read
// would keep the response in memory. The HTTP server clears the deadline before the next request.
type answer struct {
	http.ResponseWriter
	c       *http.ResponseController
	timeout time.Duration
	status  int
	visit   *fair.Visit // the request's place in its org's share of the processor
}

// code returns the status of the response. It returns 200 for a connection that a WebSocket took
// over.
func (a *answer) code() int {
	if a.status == 0 {
		return http.StatusOK
	}
	return a.status
}

// PieceBytes is the number of bytes that a client has to read within the write timeout. The timeout
// applies to each such piece, so that a slow client can still get a large response.
const PieceBytes = 64 << 10

// WriteHeader implements [http.ResponseWriter]. The request keeps its place in the org's share of
// the processor until the first Write, because the body is still to be encoded. Only for a
// WebSocket, which has no body, WriteHeader frees the place.
func (a *answer) WriteHeader(status int) {
	if status == http.StatusSwitchingProtocols {
		a.visit.Leave()
	}
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(b []byte) (n int, err error) {
	a.visit.Leave()
	if a.status == 0 {
		a.status = http.StatusOK
	}
	for first := true; err == nil && (first || len(b) > 0); first = false {
		piece := b[:min(len(b), PieceBytes)]
		_ = a.c.SetWriteDeadline(time.Now().Add(a.timeout)) // if this fails, the write may block forever
		var wrote int
		wrote, err = a.ResponseWriter.Write(piece)
		n, b = n+wrote, b[len(piece):]
	}
	return n, err
}

// FlushError sends what was written; http.ResponseController calls it. A response that is flushed
// is a stream, so FlushError frees the request's place in the org's share of the processor.
func (a *answer) FlushError() error {
	a.visit.Leave()
	return a.c.Flush()
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
