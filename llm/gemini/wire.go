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

// wire stands between the SDK and the connection of one call. It makes failures
// what they are for all providers, keeps what the SDK's types cannot hold, and
// passes on only lines that the SDK understands.
type wire struct {
	next http.RoundTripper
	key  string

	// arguments are the texts of the function calls that have come, in order, and
	// not been taken yet. The SDK gives them as a map, in which large numbers and
	// the order of the keys are lost.
	arguments []string
	// failed is why the answer ended early. The SDK would log it.
	failed error
}

func newWire(next http.RoundTripper, key string) *wire {
	if next == nil {
		next = http.DefaultTransport
	}
	return &wire{next: next, key: key}
}

// wireOf is the transport of the SDK's clients, which calls share: each goes over
// the wire that its context holds under this key.
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

// lines are the lines of an answer that hold a piece of it.
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

// Close ends the connection; what is left of the answer is not wanted.
func (l *lines) Close() error {
	_ = l.body.Close() // the SDK would log it
	return nil
}

// line reads a line and returns what of it the SDK shall see.
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
	return append(append([]byte("data: "), llm.Marked(text)...), "\n\n"...) // between events the SDK wants an empty line
}

// maxErrorBody bounds what is read of an answer that is no success, in bytes.
const maxErrorBody = 64 << 10

// statusError reads and closes an answer that is no success. Gemini says in the
// body how long to wait, and answers 400 to a wrong key.
func statusError(resp *http.Response) *llm.Error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // a part is better than nothing
	_ = resp.Body.Close()
	var said struct {
		Error struct {
			Details []struct{ Reason, RetryDelay string }
		}
	}
	_ = json.Unmarshal(body, &said) // a body of another kind has no details
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
