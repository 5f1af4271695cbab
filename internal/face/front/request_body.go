package front

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// requestBody is a request body whose Close does nothing, so that the method `drain` can still read
// the rest of the body after the handler has returned. The read deadline starts with the first
// read, unless the handler sets another deadline.
type requestBody struct {
	io.ReadCloser
	c      *http.ResponseController
	within time.Duration
	began  bool
	bytes  int64        // bytes read until now
	ended  func() error // called once, when the whole body has arrived; its error fails the read; may be nil
}

func (k *requestBody) Read(b []byte) (int, error) {
	if !k.began {
		k.began = true
		_ = k.c.SetReadDeadline(time.Now().Add(k.within)) // if this fails, the read may block forever
	}
	n, err := k.ReadCloser.Read(b)
	k.bytes += int64(n)
	if errors.Is(err, io.EOF) {
		_ = k.c.SetReadDeadline(time.Time{}) // clears the deadline: the response needs none
		if ended := k.ended; ended != nil {
			k.ended = nil
			if err := ended(); err != nil {
				return n, err
			}
		}
	}
	return n, err
}

func (k *requestBody) Close() error { return nil }

// drain reads the rest of the body of a refused request. Otherwise a client that is still sending
// would get a connection reset instead of the response.
func (k *requestBody) drain(w http.ResponseWriter) {
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second)) // if this fails, only the size of the copy is limited
	_, _ = io.Copy(io.Discard, io.LimitReader(k.ReadCloser, 8*BodyLimit))
}
