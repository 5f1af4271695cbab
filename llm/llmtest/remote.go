package llmtest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// Secret is the API key for fake servers.
const Secret = "sk-secret-of-the-test"

// Remote describes a provider that calls a server.
type Remote struct {
	Wire  Wire
	Model string
	// BaseEnv and KeyEnv are the environment variables of the provider's base URL and API key. BasePath
	// is the path at the end of that base URL.
	BaseEnv, KeyEnv, BasePath string
	// SentKey is the name of the header that contains the key, and SentValue is the value of that
	// header.
	SentKey, SentValue string
	New                func(*llm.Endpoints, *http.Client) llm.Provider
}

// At creates the provider for a server at the given URL.
func (r Remote) At(t testing.TB, url string, config llm.TransportConfig) llm.Provider {
	t.Helper()
	endpoints := r.endpoints(t, url, Secret)
	config.AllowHosts = append(config.AllowHosts, endpoints.Hosts()...)
	client := llm.NewClient(config)
	t.Cleanup(client.CloseIdleConnections)
	return r.New(endpoints, client)
}

func (r Remote) endpoints(t testing.TB, url, key string) *llm.Endpoints {
	t.Helper()
	env := map[string]string{r.BaseEnv: url + r.BasePath, r.KeyEnv: key, "OTHER_SECRET": "never-sent"}
	endpoints, err := llm.NewEndpoints(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	return endpoints
}

// Serve creates the provider, and a fake server that returns the answers.
func (r Remote) Serve(t testing.TB, answers ...Answer) (llm.Provider, *Server) {
	t.Helper()
	server := NewServer(t, r.Wire, answers...)
	return r.At(t, server.URL, llm.TransportConfig{}), server
}

func (r Remote) request() llm.Request {
	return llm.Request{Model: r.Model, Messages: []perdure.Message{perdure.UserText("hi")}}
}

// RunRemote runs all tests of Run. In addition, it tests failures of connections and servers.
func RunRemote(t *testing.T, r Remote, c Case) {
	c.Model = r.Model
	c.New = func(t *testing.T, answers ...Answer) llm.Provider {
		p, _ := r.Serve(t, answers...)
		return p
	}
	Run(t, c)
	for name, test := range map[string]func(*testing.T, Remote){
		"the key is sent":                          testKeySent,
		"the body of a request":                    testBody,
		"a missing key":                            testMissingKey,
		"a server without a key":                   testKeyless,
		"failures by status":                       testStatuses,
		"an unreadable failure":                    testForeignBody,
		"no retries":                               testNoRetries,
		"an event in the stream":                   testErrorEvent,
		"a silent server":                          testHangBefore,
		"a stalled stream":                         testHangAfter,
		"a dead handshake":                         testDeadHandshake,
		"nobody listens":                           testNobodyListens,
		"the caller's deadline":                    testDeadline,
		"a redirect carries the key nowhere":       testRedirect,
		"an endpoint that nobody allowed":          testForeignEndpoint,
		"a provider that repeats the key":          testRepeatedKey,
		"a provider that writes the key otherwise": testEchoedKey,
		"a private address that nobody configured": testPrivateAddress,
	} {
		t.Run(name, func(t *testing.T) { test(t, r) })
	}
}

func testKeySent(t *testing.T, r Remote) {
	p, server := r.Serve(t, Answer{Text: []string{"ok"}})
	Ask(t, p, r.request())
	if got := server.Requests()[0].Header.Get(r.SentKey); got != r.SentValue {
		t.Errorf("header %s is %q", r.SentKey, got)
	}
}

func testMissingKey(t *testing.T, r Remote) {
	server := NewServer(t, r.Wire, Answer{Text: []string{"ok"}})
	p := r.New(r.endpoints(t, server.URL, ""), http.DefaultClient)
	_, _, err := TryAsk(t.Context(), p, r.request())
	e := WantError(t, err, llm.Auth, false)
	if !strings.Contains(e.Message, r.KeyEnv) {
		t.Errorf("message %q must name the variable %s", e.Message, r.KeyEnv)
	}
	if len(server.Requests()) != 0 {
		t.Error("a call without a key was sent")
	}
}

// testKeyless checks that API keys in the environment of the process are not sent to a server that
// needs no key.
func testKeyless(t *testing.T, r Remote) {
	server := NewServer(t, r.Wire, Answer{Text: []string{"ok"}})
	t.Setenv(r.KeyEnv, Secret)
	t.Setenv(strings.Replace(r.KeyEnv, "API_KEY", "AUTH_TOKEN", 1), Secret)
	t.Setenv(strings.Replace(r.KeyEnv, "API_KEY", "CUSTOM_HEADERS", 1), "X-Custom: "+Secret)
	endpoints, err := llm.NewEndpoints(nil, llm.Endpoint{BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	client := llm.NewClient(llm.TransportConfig{AllowHosts: endpoints.Hosts()})
	t.Cleanup(client.CloseIdleConnections)
	req := r.request()
	req.BaseURL = server.URL + r.BasePath
	Ask(t, r.New(endpoints, client), req)
	for name, values := range server.Requests()[0].Header {
		if strings.Contains(strings.Join(values, ""), Secret) {
			t.Errorf("header %s carries the key", name)
		}
	}
}

func testStatuses(t *testing.T, r Remote) {
	const date = "Tue, 03 Nov 2026 10:00:00 GMT"
	for _, f := range []struct {
		status    int
		header    map[string]string
		kind      llm.ErrorKind
		retryable bool
		after     time.Duration
	}{
		{429, map[string]string{"Retry-After": "7"}, llm.RateLimited, true, 7 * time.Second},
		{429, map[string]string{"Retry-After-Ms": "250", "Retry-After": "7"}, llm.RateLimited, true, 250 * time.Millisecond},
		{503, map[string]string{"Retry-After": "Tue, 03 Nov 2026 10:00:30 GMT", "Date": date}, llm.Overloaded, true, 30 * time.Second},
		{529, map[string]string{"Retry-After": "-5"}, llm.Overloaded, true, 0},
		{500, nil, llm.Unknown, true, 0},
		{504, nil, llm.Timeout, true, 0},
		{400, nil, llm.InvalidRequest, false, 0},
		{404, nil, llm.InvalidRequest, false, 0},
		{413, nil, llm.InvalidRequest, false, 0}, // a body that is too large is not retryable
		{401, nil, llm.Auth, false, 0},
		{403, nil, llm.Auth, false, 0},
	} {
		body := `{"type":"error","error":{"type":"some_error","message":"the reason, with ` + Secret[:6] + `"}}`
		p, _ := r.Serve(t, Answer{Status: f.status, Header: f.header, Body: body})
		_, _, err := TryAsk(t.Context(), p, r.request())
		e := WantError(t, err, f.kind, f.retryable)
		if e.RetryAfter != f.after || e.Status != f.status || e.Provider != p.Name() {
			t.Errorf("status %d: %+v, want a wait of %v", f.status, e, f.after)
		}
		if quoted := strings.Contains(e.Message, "the reason"); quoted == (f.kind == llm.Auth) {
			t.Errorf("status %d: message %q", f.status, e.Message)
		}
	}
}

// testForeignBody checks that the error for a response with status 400 is not retryable, even if
// the body is not an error of the API but, for example, the error page of a proxy.
func testForeignBody(t *testing.T, r Remote) {
	for _, body := range []string{"<html>Bad Request</html>", "", `{"error":"just text"}`, `{"error":{"code":1210,"message":"x"}}`} {
		p, _ := r.Serve(t, Answer{Status: 400, Body: body})
		_, _, err := TryAsk(t.Context(), p, r.request())
		if e := WantError(t, err, llm.InvalidRequest, false); strings.Contains(e.Message, "<html>") {
			t.Errorf("message %q", e.Message)
		}
	}
}

func testNoRetries(t *testing.T, r Remote) {
	p, server := r.Serve(t, Answer{Status: 529})
	_, _, err := TryAsk(t.Context(), p, r.request())
	_ = WantError(t, err, llm.Overloaded, true)
	if n := len(server.Requests()); n != 1 {
		t.Errorf("the call was sent %d times", n)
	}
}

func testErrorEvent(t *testing.T, r Remote) {
	for event, want := range map[string]struct {
		kind      llm.ErrorKind
		retryable bool
	}{
		`{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`:       {llm.Overloaded, true},
		`{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`:       {llm.RateLimited, true},
		`{"type":"error","error":{"type":"invalid_request_error","message":"bad"}}`:   {llm.InvalidRequest, false},
		`{"type":"error","error":{"type":"something_new","message":"?"}}`:             {llm.Unknown, true},
		`{"type":"error","error":{"message":"upstream","code":502}}`:                  {llm.Unknown, true},
		`{"type":"error","error":{"message":"upstream","code":"429","type":"error"}}`: {llm.RateLimited, true},
	} {
		p, _ := r.Serve(t, Answer{Text: []string{"half"}, Event: event})
		_, _, err := TryAsk(t.Context(), p, r.request())
		_ = WantError(t, err, want.kind, want.retryable)
	}
}

// testRepeatedKey checks that an error, and the errors that it wraps, do not contain the API key of
// the call. The server repeats the key in an error response or a redirect.
func testRepeatedKey(t *testing.T, r Remote) {
	body := `{"type":"error","error":{"type":"some_error","message":"the reason: ` + Secret + ` is no good"}}`
	answers := []Answer{{Text: []string{"half"}, Event: body}}
	for _, status := range []int{400, 401, 403, 404, 409, 413, 429, 500, 503} {
		answers = append(answers, Answer{Status: status, Body: body})
	}
	answers = append(answers, Answer{Status: 302, Header: map[string]string{"Location": "http://x.example/?key=" + Secret}})
	for _, a := range answers {
		p, _ := r.Serve(t, a)
		_, _, err := TryAsk(t.Context(), p, r.request())
		if err == nil || strings.Contains(fmt.Sprintf("%v %+v", err, err), Secret) {
			t.Errorf("status %d: the error is %v", a.Status, err)
		}
		for ; err != nil; err = errors.Unwrap(err) { // wrapped errors are written to the log
			if strings.Contains(err.Error(), Secret) {
				t.Errorf("status %d: a cause is %v", a.Status, err)
			}
		}
	}
}

func testRedirect(t *testing.T, r Remote) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		thief := NewServer(t, r.Wire, Answer{Text: []string{"mine now"}})
		p, _ := r.Serve(t, Answer{Status: status, Header: map[string]string{"Location": thief.URL}})
		_, _, err := TryAsk(t.Context(), p, r.request())
		_ = WantError(t, err, llm.InvalidRequest, false)
		if len(thief.Requests()) != 0 {
			t.Errorf("status %d was followed", status)
		}
	}
	// The client does not follow a redirect, even to the same server.
	for _, to := range []string{"/elsewhere", "//thief.example/", "http://169.254.169.254/latest/meta-data", "http://[::ffff:169.254.169.254]/", "http://localhost:1/", "file:///etc/passwd"} {
		for _, status := range []int{302, 307} {
			p, server := r.Serve(t, Answer{Status: status, Header: map[string]string{"Location": to}})
			_, _, err := TryAsk(t.Context(), p, r.request())
			e := WantError(t, err, llm.InvalidRequest, false)
			if n := len(server.Requests()); n != 1 || e.Status != status || strings.Contains(e.Error(), to) {
				t.Errorf("a redirect to %s: %d requests, %v", to, n, e)
			}
		}
	}
}

func testForeignEndpoint(t *testing.T, r Remote) {
	thief := NewServer(t, r.Wire, Answer{Text: []string{"mine now"}})
	p, server := r.Serve(t, Answer{Text: []string{"ok"}})
	for _, pair := range []llm.Endpoint{
		{BaseURL: thief.URL},
		{BaseURL: thief.URL, KeyEnv: r.KeyEnv},
		{BaseURL: thief.URL, KeyEnv: "OTHER_SECRET"},
		{KeyEnv: "OTHER_SECRET"},
		{BaseURL: server.URL, KeyEnv: "OTHER_SECRET"},
		{BaseURL: strings.Replace(server.URL, "http://", "http://evil@", 1), KeyEnv: r.KeyEnv},
	} {
		req := r.request()
		req.BaseURL, req.APIKeyEnv = pair.BaseURL, pair.KeyEnv
		if _, _, err := TryAsk(t.Context(), p, req); !perdure.IsCode(err, perdure.PermissionDenied) {
			t.Errorf("%+v: got %v, want permission_denied", pair, err)
		}
	}
	if len(thief.Requests())+len(server.Requests()) != 0 {
		t.Error("a call was sent")
	}
	req := r.request()
	req.BaseURL, req.APIKeyEnv = server.URL+r.BasePath, r.KeyEnv
	Ask(t, p, req) // this base URL and key variable are allowed together
}

func testPrivateAddress(t *testing.T, r Remote) {
	server := NewServer(t, r.Wire, Answer{Text: []string{"ok"}})
	client := llm.NewClient(llm.TransportConfig{}) // no host is configured
	t.Cleanup(client.CloseIdleConnections)
	_, _, err := TryAsk(t.Context(), r.New(r.endpoints(t, server.URL, Secret), client), r.request())
	_ = WantError(t, err, llm.InvalidRequest, false)
	if len(server.Requests()) != 0 {
		t.Error("the call was sent")
	}
	allowing := llm.NewClient(llm.TransportConfig{AllowLoopback: true})
	t.Cleanup(allowing.CloseIdleConnections)
	Ask(t, r.New(r.endpoints(t, server.URL, Secret), allowing), r.request())
}
