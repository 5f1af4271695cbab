package gemini

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/perdure/perdure/llm"
)

// wire is between the SDK and the connection of one call. It converts failures to *llm.Error, keeps
// data that the SDK's types cannot hold, and passes on only lines that the SDK understands.
type wire struct {
	next http.RoundTripper
	key  string

	// arguments are the received texts of function calls that take has not returned yet, in order.
	// The SDK decodes them to a map, which loses large numbers and the order of the keys.
	arguments []string
	// failed is the reason for which the answer ended early. The SDK would log it.
	failed error
}

func newWire(next http.RoundTripper, key string) *wire {
	if next == nil {
		next = http.DefaultTransport
	}
	return &wire{next: next, key: key}
}

// wireOf is the transport of the SDK's clients. The clients are shared by calls; each call's
// context holds its wire under this key.
type wireOf struct{}

func (wireOf) RoundTrip(req *http.Request) (*http.Response, error) {
	w, ok := req.Context().Value(wireOf{}).(*wire)
	if !ok {
		return nil, errors.New("the request belongs to no call")
	}
	return w.RoundTrip(req)
}

const keyHeader = "X-Goog-Api-Key"

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Del(keyHeader)
	if w.key != "" {
		req.Header.Set(keyHeader, w.key)
	}
	resp, err := w.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= http.StatusBadRequest {
		return nil, statusError(resp)
	}
	resp.Body = &lines{wire: w, body: resp.Body, in: bufio.NewReader(resp.Body)}
	return resp, nil
}

// take returns the text of the next call's arguments.
func (w *wire) take() string {
	if len(w.arguments) == 0 {
		return ""
	}
	text := w.arguments[0]
	w.arguments = w.arguments[1:]
	return text
}

// lines filters the lines of a response body.
type lines struct {
	wire *wire
	body io.Closer
	in   *bufio.Reader
	rest []byte
}

func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		if l.wire.failed != nil {
			return 0, io.EOF
		}
		line, err := l.in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			l.wire.failed = err
			return 0, io.EOF
		}
		if l.rest = l.wire.line(line); len(l.rest) == 0 && err != nil {
			return 0, io.EOF
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// Close closes the connection and drops the rest of the response.
func (l *lines) Close() error {
	_ = l.body.Close() // the SDK would log the error
	return nil
}

// line reads a line and returns the part of it for the SDK.
func (w *wire) line(line []byte) []byte {
	text, isData := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:"))
	if text = bytes.TrimSpace(text); !isData || len(text) == 0 {
		return nil
	}
	var piece struct {
		Error      json.RawMessage
		Candidates []struct {
			Content struct {
				Parts []struct {
					FunctionCall *struct{ Args json.RawMessage }
				}
			}
		}
	}
	if err := json.Unmarshal(text, &piece); err != nil {
		w.failed = llm.CutStream(Name)
		return nil
	}
	if len(piece.Error) > 0 && string(piece.Error) != "null" {
		w.failed = llm.EventError(Name, text)
		return nil
	}
	for _, c := range piece.Candidates {
		for _, p := range c.Content.Parts {
			if p.FunctionCall != nil {
				w.arguments = append(w.arguments, string(p.FunctionCall.Args))
			}
		}
	}
	return append(append([]byte("data: "), llm.Marked(text)...), "\n\n"...) // the SDK expects an empty line between events
}

// maxErrorBody is the maximum number of bytes read from an error response.
const maxErrorBody = 64 << 10

// statusError reads and closes an error response. Gemini sends the retry delay in the body, and
// status 400 for a wrong key.
func statusError(resp *http.Response) *llm.Error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // a part of the body is enough
	_ = resp.Body.Close()
	var said struct {
		Error struct {
			Details []struct{ Reason, RetryDelay string }
		}
	}
	_ = json.Unmarshal(body, &said) // a body of another form has no details
	status := resp.StatusCode
	var wait time.Duration
	for _, d := range said.Error.Details {
		if d.Reason == "API_KEY_INVALID" {
			status = http.StatusUnauthorized
		}
		if delay, err := time.ParseDuration(d.RetryDelay); err == nil && delay > 0 {
			wait = min(delay, 24*time.Hour)
		}
	}
	e := llm.StatusError(Name, status, resp.Header, body)
	e.Status = resp.StatusCode
	if e.RetryAfter == 0 && e.Retryable {
		e.RetryAfter = wait
	}
	return e
}
