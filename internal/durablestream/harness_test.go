package durablestream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/opentest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testServer serves the streams of a store over HTTP. The first segment of a path is the name of
// the org.
type testServer struct {
	*testing.T
	store   store.Store
	streams *Streams
	url     string
	reading Reading
	cut     chan struct{} // receives a value when the server has reset a connection
}

func open(t *testing.T) *testServer {
	t.Helper()
	return serve(t, opentest.Store(t), &notify.Local{})
}

func serve(t *testing.T, s store.Store, hints notify.Notifier) *testServer {
	t.Helper()
	r := &testServer{T: t, store: s, streams: New(s, hints, 0), reading: Reading{
		Alive: func() error { return nil }, WriteTimeout: 30 * time.Second,
	}, cut: make(chan struct{}, 10)}
	srv := httptest.NewServer(http.HandlerFunc(r.answer))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	r.url = srv.URL
	return r
}

func (r *testServer) answer(w http.ResponseWriter, req *http.Request) {
	defer func() {
		if cause := recover(); cause != nil {
			r.cut <- struct{}{}
			panic(cause)
		}
	}()
	org, path, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/")
	reading := r.reading
	if req.Header.Get("Impatient") != "" {
		reading.WriteTimeout = 100 * time.Millisecond
	}
	err := r.streams.Handle(req.Context(), w, req, org, path, reading)
	var refusal *Refusal
	switch {
	case err == nil:
		return
	case errors.As(err, &refusal):
		for name, value := range refusal.Header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(refusal.Status)
	case perdure.IsCode(err, perdure.NotFound):
		w.WriteHeader(http.StatusNotFound)
	case perdure.IsCode(err, perdure.InvalidArgument):
		w.WriteHeader(http.StatusBadRequest)
	case perdure.IsCode(err, perdure.RateLimited):
		w.WriteHeader(http.StatusTooManyRequests)
	case perdure.IsCode(err, perdure.PayloadTooLarge):
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	case perdure.IsCode(err, perdure.Unavailable):
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		w.WriteHeader(http.StatusInternalServerError)
	}
	_, _ = io.WriteString(w, err.Error())
}

// reply is a response that the test has read.
type reply struct {
	*testing.T
	status int
	header http.Header
	body   string
}

func (r *testServer) call(method, path, body string, headers ...string) reply {
	r.Helper()
	res := r.start(r.Context(), method, path, body, headers...)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		r.Fatal(err)
	}
	return reply{r.T, res.StatusCode, res.Header, string(raw)}
}

// start sends a request for a stream of the org acme. It does not read the body of the response.
func (r *testServer) start(ctx context.Context, method, path, body string, headers ...string) *http.Response {
	r.Helper()
	if !strings.HasPrefix(path, "/") {
		path = "/acme/" + path
	}
	req, err := http.NewRequestWithContext(ctx, method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		r.Fatal(err)
	}
	return res
}

func (r reply) want(status int) reply {
	r.Helper()
	if r.status != status {
		r.Fatalf("status %d, want %d: %s", r.status, status, r.body)
	}
	return r
}

func (r reply) next() string { return r.header.Get(headerNext) }

// says checks response headers, given as names and values. The value "" means that the header is
// absent.
func (r reply) says(headers ...string) reply {
	r.Helper()
	for i := 0; i < len(headers); i += 2 {
		if got := r.header.Get(headers[i]); got != headers[i+1] {
			r.Errorf("%s is %q, want %q", headers[i], got, headers[i+1])
		}
	}
	return r
}

const (
	asText   = "text/plain"
	asBytes  = "application/octet-stream"
	asJSON   = "application/json"
	typeName = "Content-Type"
)

func (r *testServer) make(path, contentType, body string) reply {
	r.Helper()
	return r.call("PUT", path, body, typeName, contentType).want(201)
}

func (r *testServer) add(path, contentType, body string, headers ...string) reply {
	r.Helper()
	return r.call("POST", path, body, append([]string{typeName, contentType}, headers...)...)
}

// whole returns the content of a stream from its start to its end.
func (r *testServer) whole(path string) string {
	r.Helper()
	return r.rest(path, "-1")
}

// rest reads the content after an offset, page by page. It returns the bytes or, for a stream of
// JSON, the messages joined by commas.
func (r *testServer) rest(path, offset string) string {
	r.Helper()
	var pages []string
	separator := ""
	for {
		page := r.call("GET", path+"?offset="+offset, "").want(200)
		if page.header.Get(typeName) == asJSON {
			page.body, separator = page.body[1:len(page.body)-1], ","
		}
		if page.body != "" {
			pages = append(pages, page.body)
		}
		if page.header.Get(headerUpToDate) == "true" {
			return strings.Join(pages, separator)
		}
		if page.next() <= offset && offset != "-1" {
			r.Fatalf("after the offset %s comes %s", offset, page.next())
		}
		offset = page.next()
	}
}

// eventStream is an open event stream.
type eventStream struct {
	*testing.T
	res   *http.Response
	lines *bufio.Reader
}

func (r *testServer) follow(path, offset string) *eventStream {
	r.Helper()
	res := r.start(r.Context(), "GET", path+"?live=sse&offset="+offset, "")
	if res.StatusCode != 200 {
		r.Fatalf("status %d", res.StatusCode)
	}
	r.Cleanup(func() { res.Body.Close() })
	return &eventStream{r.T, res, bufio.NewReader(res.Body)}
}

// batch reads the next event with content, if there is one, and the control event that follows. It
// returns the data of both.
func (l *eventStream) batch() (content string, c control, err error) {
	l.Helper()
	for {
		name, data, err := l.event()
		if err != nil {
			return content, c, err
		}
		if name == "control" {
			if err := json.Unmarshal([]byte(data), &c); err != nil {
				l.Fatalf("%v: %s", err, data)
			}
			return content, c, nil
		}
		content += data
	}
}

func (l *eventStream) event() (name, data string, err error) {
	var lines []string
	for {
		line, err := l.lines.ReadString('\n')
		if err != nil {
			return "", "", err
		}
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			return name, strings.Join(lines, "\n"), nil
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			return "", "", fmt.Errorf("the line %q", line)
		}
		value = strings.TrimPrefix(value, " ")
		if key == "event" {
			name = value
		} else {
			lines = append(lines, value)
		}
	}
}

// until reads batches until their joined content equals the wanted text. It returns the last control
// event. The test fails if the content differs from the text, or if the stream ends first.
func (l *eventStream) until(want string) control {
	l.Helper()
	got := ""
	for {
		content, c, err := l.batch()
		if err != nil {
			l.Fatalf("%v after %q", err, got)
		}
		if l.res.Header.Get(headerEncoding) == "base64" {
			raw, err := base64.StdEncoding.DecodeString(content)
			if err != nil {
				l.Fatal(err)
			}
			content = string(raw)
		}
		if got += content; got == want {
			return c
		}
		if !strings.HasPrefix(want, got) {
			l.Fatalf("got %q, want %q", got, want)
		}
	}
}

// filled returns n bytes of content that does not repeat itself, so that a comparison notices a
// missing or a repeated part.
func filled(n int) string {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%d,", i)
	}
	return b.String()[:n]
}
