package adapter

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/perdure/perdure/llm"
)

// maxEvent is the maximum size in bytes of a line, and of the data of an event.
const maxEvent = 32 << 20

// Post sends the JSON body of a call and returns the events of the response. If sending fails, the
// returned events contain only the error. The function `decode` decodes the data of an event. It
// returns io.EOF for the event that ends the stream, and an *EventError for an error event.
// Redirects are not followed, because they would send the key to another host.
func Post[E any](ctx context.Context, c *Call, url string, header http.Header, body []byte, decode func([]byte) (E, error)) *Stream[E] {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return Failed[E](c.Unusable(err))
	}
	req.Header = header
	req.Header.Set("Content-Type", "application/json")
	client := *c.Config.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := llm.Checked(c.API.Name, req, client.Do)
	if err != nil {
		return Failed[E](err)
	}
	return &Stream[E]{body: resp.Body, lines: bufio.NewReader(resp.Body), decode: decode}
}

// Failed returns a stream without events that ends with the error err.
func Failed[E any](err error) *Stream[E] { return &Stream[E]{err: err} }

// Unusable returns the error for an endpoint that is not a valid URL.
func (c *Call) Unusable(err error) *llm.Error {
	return &llm.Error{Kind: llm.InvalidRequest, Provider: c.API.Name, Message: "the endpoint cannot be used", Err: err}
}

// Stream reads server-sent events (WHATWG HTML, section 9.2). An incomplete event at the end of the
// stream is discarded.
type Stream[E any] struct {
	body   io.Closer
	lines  *bufio.Reader
	decode func([]byte) (E, error)
	event  E
	ended  bool
	err    error
}

// Next implements Events.
func (s *Stream[E]) Next() bool {
	if s.err != nil || s.ended {
		return false
	}
	data, err := s.data()
	if err == nil {
		s.event, err = s.decode(data)
	}
	if s.ended = errors.Is(err, io.EOF); !s.ended {
		s.err = err
	}
	return err == nil
}

// data returns the data of the next event, or io.EOF at the end of the stream.
func (s *Stream[E]) data() (data []byte, err error) {
	for {
		line, err := s.line()
		if err != nil {
			return nil, err
		}
		if len(line) == 0 && len(data) > 0 {
			return data, nil
		}
		if value, isData := bytes.CutPrefix(line, []byte("data:")); isData {
			data = append(append(data, bytes.TrimPrefix(value, []byte(" "))...), '\n')
		}
		if len(data) > maxEvent {
			return nil, errTooLong
		}
	}
}

// line returns the next line without its line break. The error is io.EOF if the stream ends before a
// line break.
func (s *Stream[E]) line() (line []byte, err error) {
	for {
		piece, err := s.lines.ReadSlice('\n')
		line = append(line, piece...)
		switch {
		case len(line) > maxEvent:
			return nil, errTooLong
		case err == nil:
			return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

var errTooLong = errors.New("an event of the stream is too long")

// Current implements Events.
func (s *Stream[E]) Current() E { return s.event }

// Err implements Events.
func (s *Stream[E]) Err() error { return s.err }

// Close implements Events. It discards the rest of the response.
func (s *Stream[E]) Close() error {
	if s.body == nil {
		return nil
	}
	return s.body.Close()
}

// EventError is an error that a server reports as an event of the stream.
type EventError struct{ Data []byte }

func (*EventError) Error() string { return "the provider sent an error event" }
