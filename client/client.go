package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/perdure/perdure"
)

// DefaultOrg is the org that exists on every server from the start.
const DefaultOrg = "default"

// Options configure a client: the server's address, the API key and the org.
type Options struct {
	// BaseURL is the server's address, without path, user or password. Its scheme is http or https.
	// Required.
	BaseURL string
	// Key is the secret of an API key, or the token of the server's data directory.
	Key string
	// Org is the org of the key; default "default". The token of a server's data directory can be used
	// with any org.
	Org string
	// HTTPClient sends the requests. If it is nil, New creates an HTTP client that keeps idle
	// connections for concurrent requests. The created client has no timeout, because a stream may
	// last for any time.
	HTTPClient *http.Client
	// OnReconnect is called before each pause in which Follow waits to connect again. `cause` is
	// the error that ended the stream, and `pause` is the length of the pause.
	OnReconnect func(cause error, pause time.Duration)
}

// Client calls the API for one org. It is safe for concurrent use.
type Client struct {
	o    Options
	base *url.URL

	// wait sleeps for the duration d between two attempts of Follow. Tests replace it.
	wait func(ctx context.Context, d time.Duration) error
	// idle is the longest time that a stream may be silent: three ping intervals of the server.
	idle time.Duration
	rand func() float64
}

// New creates a client, which connects at its first call. Errors: invalid_argument. The message of
// this error does not contain BaseURL, because the URL may contain a password.
func New(o Options) (*Client, error) {
	base, err := url.Parse(o.BaseURL)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, perdure.FieldErrorf("server", "%q is no address of a server; give it like http://127.0.0.1:8080", perdure.HidePassword(o.BaseURL))
	}
	if base.User != nil {
		return nil, perdure.FieldErrorf("server", "%q is no address of a server: it names a user, and what lets one in is the key", perdure.HidePassword(o.BaseURL))
	}
	if o.Org == "" {
		o.Org = DefaultOrg
	}
	if o.HTTPClient == nil {
		t := newTransport()
		t.DisableCompression = onThisMachine(base.Hostname())
		o.HTTPClient = &http.Client{Transport: t}
	}
	return &Client{o: o, base: base, wait: sleep, idle: 45 * time.Second, rand: rand.Float64}, nil
}

// Socket creates a client for a server that listens on a Unix socket. It is for the owner of a data
// directory; `token` is the content of the file "token" in that directory.
func Socket(path, token string) *Client {
	var d net.Dialer
	return NewWithDialer(func(ctx context.Context) (net.Conn, error) { return d.DialContext(ctx, "unix", path) }, token)
}

// NewWithDialer creates a client for the server to which the function `dial` connects. Use it for a
// server on the same machine: the client does not ask for compressed responses.
func NewWithDialer(dial func(context.Context) (net.Conn, error), token string) *Client {
	t := newTransport()
	t.DisableCompression = true
	t.Proxy, t.DialContext = nil, func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }
	c, err := New(Options{BaseURL: "http://localhost", Key: token, HTTPClient: &http.Client{Transport: t}})
	if err != nil {
		panic(err) // unreachable: the address is a constant
	}
	return c
}

// With returns a copy of c whose options the function `change` has modified.
func (c *Client) With(change func(*Options)) *Client {
	copied := *c
	change(&copied.o)
	return &copied
}

// Close closes the idle connections of the client.
func (c *Client) Close() { c.o.HTTPClient.CloseIdleConnections() }

// request describes one call of the API.
type request struct {
	method string
	path   []string // segments below the URL of the org
	orgs   bool     // path is below the URL of all orgs instead
	query  url.Values
	header http.Header
	body   any
	raw    io.Reader // replaces body; has length bytes
	length int64
}

// url returns the URL of the request. Each element of path becomes one escaped segment.
func (c *Client) url(r request) string {
	u := c.base.JoinPath("api", "orgs")
	if !r.orgs {
		u = u.JoinPath(url.PathEscape(c.o.Org))
	}
	for _, piece := range r.path {
		u = u.JoinPath(url.PathEscape(piece))
	}
	u.RawQuery = r.query.Encode()
	return u.String()
}

// send sends the request and returns the response. If the response reports an error, send returns
// this error and no response.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	var body io.Reader
	if r.body != nil {
		raw, err := json.Marshal(r.body)
		if err != nil {
			return nil, perdure.FieldErrorf("body", "does not encode: %v", err)
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, c.url(r), body)
	if err != nil {
		return nil, perdure.FieldErrorf("server", "%v", err)
	}
	if r.raw != nil {
		req.Body, req.ContentLength = io.NopCloser(io.LimitReader(r.raw, r.length)), r.length
		req.Header.Set("Content-Type", "application/json")
		// With this header, the server can refuse a body that is too large before the client sends the
		// body.
		req.Header.Set("Expect", "100-continue")
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.o.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.o.Key)
	}
	req, end := traced(req)
	resp, err := c.o.HTTPClient.Do(req)
	if err != nil {
		end(0, err)
		return nil, c.unreachable(ctx, err)
	}
	end(resp.StatusCode, nil)
	if resp.StatusCode >= 300 {
		defer drain(resp.Body)
		return nil, problem(resp)
	}
	return resp, nil
}

// unreachable returns the error for a call that got no response. If the caller's context has ended, it
// returns the context's cause.
func (c *Client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var whole *url.Error
	if errors.As(err, &whole) {
		err = whole.Err
	}
	return &perdure.Error{
		Code: perdure.Unavailable, Message: "the server at " + c.base.String() + " does not answer", Err: err,
	}
}

// The server does not process a request that exceeds the rate limit, so the client can repeat it.
// It makes at most soonTries attempts, and only if the server requires a pause of at most the
// duration `soon`. After a longer pause, as for a quota, the program itself has to try again; see
// perdure.Error.RetryAfter.
const (
	soonTries = 5
	soon      = 2 * time.Second
)

// unhurried sends the request, and repeats a rate-limited request within the limits `soon` and
// `soonTries`. It does not repeat requests with a raw body.
func (c *Client) unhurried(ctx context.Context, r request) (*http.Response, error) {
	for tries := 1; ; tries++ {
		resp, err := c.send(ctx, r)
		var coded *perdure.Error
		if !errors.As(err, &coded) || coded.Code != perdure.RateLimited || coded.RetryAfter == 0 || coded.RetryAfter > soon || r.raw != nil || tries == soonTries {
			return resp, err
		}
		if err := c.wait(ctx, coded.RetryAfter+time.Duration(c.rand()*float64(coded.RetryAfter)/2)); err != nil {
			return nil, err
		}
	}
}

// call sends the request. If out is not nil, it decodes the response into out.
func (c *Client) call(ctx context.Context, r request, out any) error {
	resp, err := c.unhurried(ctx, r)
	if err != nil {
		return err
	}
	defer drain(resp.Body)
	if out == nil || resp.StatusCode == http.StatusNoContent {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return brokenOff(ctx, err)
	}
	return nil
}

// brokenOff returns the error for a response that cannot be read to its end or decoded. If the caller's
// context has ended, it returns the context's cause.
func brokenOff(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &perdure.Error{Code: perdure.Unavailable, Message: "the server's answer broke off or is no JSON", Err: err}
}

// drain reads the rest of a response's body, so that the connection can be reused.
func drain(body io.ReadCloser) {
	_, _ = io.Copy(io.Discard, io.LimitReader(body, 64<<10)) // an error here does no harm
	_ = body.Close()
}

// get sends a GET request and decodes the response.
func get[T any](ctx context.Context, c *Client, query url.Values, path ...string) (*T, error) {
	out := new(T)
	if err := c.call(ctx, request{method: http.MethodGet, path: path, query: query}, out); err != nil {
		return nil, err
	}
	return out, nil
}

// problem returns the error that an error response describes. If the response comes from another
// program, such as a proxy, the HTTP status determines the code.
func problem(resp *http.Response) error {
	var p struct {
		Code   perdure.Code         `json:"code"`
		Detail string               `json:"detail"`
		Errors []perdure.FieldError `json:"errors"`
		// Question is set if the code is question_decided.
		Question *perdure.Question `json:"question"`
	}
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // a part of the body is enough
	err := json.Unmarshal(raw, &p)
	e := &perdure.Error{Code: p.Code, Message: p.Detail, Fields: p.Errors, RetryAfter: retryAfter(resp.Header.Get("Retry-After"))}
	if err != nil || e.Code == "" {
		e.Code = codeOfStatus(resp.StatusCode)
	}
	if e.Message == "" {
		e.Message = strings.TrimSpace("the server answered " + resp.Status)
	}
	if e.Code == perdure.QuestionDecided && p.Question != nil {
		return &DecidedError{Question: p.Question, err: e}
	}
	return e
}

func retryAfter(header string) time.Duration {
	d, err := time.ParseDuration(header + "s")
	if err != nil || d < 0 {
		return 0
	}
	return d
}

// codeOfStatus returns the code for the HTTP status of a response that has no code.
func codeOfStatus(status int) perdure.Code {
	switch status {
	case http.StatusBadRequest, http.StatusMethodNotAllowed:
		return perdure.InvalidArgument
	case http.StatusUnauthorized:
		return perdure.Unauthenticated
	case http.StatusForbidden:
		return perdure.PermissionDenied
	case http.StatusNotFound:
		return perdure.NotFound
	case http.StatusConflict:
		return perdure.Conflict
	case http.StatusRequestEntityTooLarge:
		return perdure.PayloadTooLarge
	case http.StatusTooManyRequests:
		return perdure.RateLimited
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusRequestTimeout:
		return perdure.Unavailable
	}
	return perdure.Internal
}
