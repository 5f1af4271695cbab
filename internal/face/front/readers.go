package front

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/problem"
)

const (
	// urlLimit and headerLimit are the maximum sizes of a request's URL and headers, in bytes.
	urlLimit    = 16 << 10
	headerLimit = 64 << 10
)

// refuseLong refuses URLs and headers that are longer than any request of the API needs.
func refuseLong(r *http.Request) *problem.Problem {
	if len(r.RequestURI) > urlLimit {
		p := problem.New(perdure.InvalidArgument, fmt.Sprintf("the URL has %d bytes; at most %d are taken, and what is longer goes into a body", len(r.RequestURI), urlLimit))
		p.Status = http.StatusRequestURITooLong
		return p
	}
	size := 0
	for name, values := range r.Header {
		for _, v := range values {
			size += len(name) + len(v)
		}
	}
	if size > headerLimit {
		p := problem.New(perdure.InvalidArgument, fmt.Sprintf("the headers have %d bytes; at most %d are taken", size, headerLimit))
		p.Status = http.StatusRequestHeaderFieldsTooLarge
		return p
	}
	return nil
}

// readers counts the open streams, sockets and waiting polls by key.
type readers struct {
	mu   sync.Mutex // guards open
	open map[perdure.Hash]int
}

// crowdedPause is the Retry-After for a key that has too many open streams, sockets and polls. The
// time is arbitrary: the server cannot know when a client will close one of them.
const crowdedPause = 5 * time.Second

// Admit counts a stream, socket or waiting poll that the client opens. The caller must call the
// returned function when the stream, socket or poll has ended. Error: rate_limited, if the client's
// key has too many of them open.
func (f *Front) Admit(c Caller, transport string) (leave func(), p *problem.Problem) {
	f.readers.mu.Lock()
	defer f.readers.mu.Unlock()
	if f.readers.open[c.Key] >= f.StreamsPerKey {
		p := problem.New(perdure.RateLimited, fmt.Sprintf(
			"%d streams are open with this key, as many as one key may have; close some, or start the server with a higher --streams-per-key", f.StreamsPerKey))
		p.RetryAfter = crowdedPause
		return nil, p
	}
	f.readers.open[c.Key]++
	left := f.Observer.Reading(transport)
	return func() {
		left()
		f.readers.mu.Lock()
		defer f.readers.mu.Unlock()
		if f.readers.open[c.Key]--; f.readers.open[c.Key] == 0 {
			delete(f.readers.open, c.Key)
		}
	}, nil
}
