package gemini

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/internal/adapter"
)

// newRequest creates the HTTP request of a call.
func newRequest(ctx context.Context, c *adapter.Call) (*http.Request, error) {
	body, err := params(c.Request)
	if err != nil {
		return nil, err
	}
	to, err := address(c)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return nil, c.Unusable(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if c.To.Key != "" {
		req.Header.Set("X-Goog-Api-Key", c.To.Key)
	}
	return req, nil
}

// address returns the URL that streams the answer of a model. It refuses a model name that would
// change other parts of the URL.
func address(c *adapter.Call) (string, error) {
	model := c.Model
	base, err := url.Parse(c.To.BaseURL)
	if err != nil {
		return "", c.Unusable(err)
	}
	if _, err := url.PathUnescape(model); err != nil || model == "" || strings.ContainsAny(model, "?&") || strings.Contains(model, "..") {
		return "", &llm.Error{Kind: llm.InvalidRequest, Provider: Name, Message: "the model's name cannot be used in a URL"}
	}
	if !strings.HasPrefix(model, "models/") && !strings.HasPrefix(model, "tunedModels/") {
		model = "models/" + model
	}
	u := base.JoinPath("v1beta", model+":streamGenerateContent")
	u.RawQuery = "alt=sse"
	return u.String(), nil
}

// send sends the request. If sending fails, the returned events contain only the error. Redirects
// are not followed, because they would send the key to another host.
func send(client *http.Client, req *http.Request) *events {
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := own.Do(req)
	if err != nil {
		return &events{err: err}
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return &events{err: statusError(resp)}
	}
	return &events{body: resp.Body, lines: bufio.NewReader(resp.Body)}
}

// events reads the chunks of a response. Each chunk is a line of server-sent events that begins with
// "data:".
type events struct {
	body  io.Closer
	lines *bufio.Reader
	chunk chunk
	err   error
}

// Next implements adapter.Events.
func (e *events) Next() bool {
	for e.err == nil {
		line, err := e.lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			e.err = err
			return false
		}
		text, isData := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:"))
		if text = bytes.TrimSpace(text); isData && len(text) > 0 {
			e.err = e.read(text)
			return e.err == nil
		}
		if err != nil {
			return false
		}
	}
	return false
}

// read decodes one chunk.
func (e *events) read(text []byte) error {
	if !json.Valid(text) {
		return llm.CutStream(Name)
	}
	e.chunk = chunk{}
	if err := json.Unmarshal(text, &e.chunk); err != nil {
		return err
	}
	if raw := e.chunk.Error; len(raw) > 0 && string(raw) != "null" {
		return &adapter.EventError{Data: text}
	}
	return nil
}

// Current implements adapter.Events.
func (e *events) Current() *chunk { return &e.chunk }

// Err implements adapter.Events.
func (e *events) Err() error { return e.err }

// Close implements adapter.Events. It closes the connection and discards the rest of the response.
func (e *events) Close() error {
	if e.body == nil {
		return nil
	}
	return e.body.Close()
}

const maxErrorBody = 64 << 10

// statusError returns the error that an error response reports, and closes the response. Two things
// differ from other APIs: the body contains the retry delay, and a wrong key has the status 400.
func statusError(resp *http.Response) *llm.Error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // a part of the body is enough
	_ = resp.Body.Close()
	var said struct {
		Error struct {
			Details []struct{ Reason, RetryDelay string }
		}
	}
	_ = json.Unmarshal(body, &said) // if the body has another form, there are no details
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
