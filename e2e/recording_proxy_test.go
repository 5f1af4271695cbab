package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// recordingProxy is a proxy between a client and a server that records their messages. The first
// element of a request's path names the case. If "cut" and a number follow, the proxy cuts the stream
// of each new response after that number of events, like a broken connection.
type recordingProxy struct {
	server *httptest.Server
	target string
	http   *http.Client

	mu        sync.Mutex
	exchanges map[string][]*exchange // exchanges of each case, by its name
}

// exchange is a request and its answer.
type exchange struct {
	Method  string
	Path    string          // path and query
	Request json.RawMessage // nil without a body
	Status  int
	Answer  json.RawMessage   // for a stream: the response in its last event
	Events  []json.RawMessage // events of a stream
	Cut     int               // number of events after which the stream was cut; 0 for never
}

// newRecordingProxy starts a proxy in front of the server at the URL.
func newRecordingProxy(t *testing.T, target string) *recordingProxy {
	t.Helper()
	p := &recordingProxy{target: target, http: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, exchanges: map[string][]*exchange{}}
	p.server = httptest.NewServer(p)
	t.Cleanup(p.server.Close)
	return p
}

// url returns the base URL of a case.
func (p *recordingProxy) url(name string) string { return p.server.URL + "/" + name + "/v1" }

// of returns the exchanges of a case.
func (p *recordingProxy) of(name string) []*exchange {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exchanges[name]
}

// ServeHTTP implements http.Handler.
func (p *recordingProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, path, _ := strings.Cut(strings.TrimPrefix(r.URL.RequestURI(), "/"), "/")
	cut := 0
	if rest, ok := strings.CutPrefix(path, "cut/"); ok {
		number, after, _ := strings.Cut(rest, "/")
		cut, _ = strconv.Atoi(number)
		path = after
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	x := &exchange{Method: r.Method, Path: "/" + path, Request: body}
	p.mu.Lock()
	p.exchanges[name] = append(p.exchanges[name], x)
	p.mu.Unlock()
	if r.Method == http.MethodPost {
		x.Cut = cut
	}
	if r.Header.Get("Upgrade") != "" {
		p.upgrade(w, r, x)
		return
	}
	p.forward(w, r, x)
}

// upgrade forwards a connection that becomes a WebSocket.
func (p *recordingProxy) upgrade(w http.ResponseWriter, r *http.Request, x *exchange) {
	target, err := url.Parse(p.target)
	if err != nil {
		panic(err)
	}
	proxy := httputil.ReverseProxy{
		Transport: p.http.Transport,
		Rewrite: func(out *httputil.ProxyRequest) {
			out.SetURL(target)
			out.Out.URL.Path = x.Path
		},
		ModifyResponse: func(resp *http.Response) error {
			x.Status = resp.StatusCode
			return nil
		},
	}
	proxy.ServeHTTP(w, r)
}

// forward sends the request to the server and returns the answer to the client.
func (p *recordingProxy) forward(w http.ResponseWriter, r *http.Request, x *exchange) {
	req, err := http.NewRequestWithContext(r.Context(), r.Method, p.target+x.Path, bytes.NewReader(x.Request))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	req.Header = r.Header.Clone()
	req.Header.Del("Accept-Encoding") // the recording needs uncompressed text
	resp, err := p.http.Do(req)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer resp.Body.Close()
	for key, values := range resp.Header {
		w.Header()[key] = values
	}
	w.WriteHeader(resp.StatusCode)
	x.Status = resp.StatusCode
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		x.stream(w, resp.Body)
		return
	}
	x.Answer, _ = io.ReadAll(resp.Body)
	_, _ = w.Write(x.Answer) // the client may have disconnected
}

// stream forwards a stream event by event.
func (x *exchange) stream(w http.ResponseWriter, body io.Reader) {
	lines := bufio.NewReader(body)
	for {
		line, err := lines.ReadBytes('\n')
		_, _ = w.Write(line) // the client may have disconnected
		if data, ok := bytes.CutPrefix(line, []byte("data: {")); ok {
			x.event(append([]byte("{"), bytes.TrimSpace(data)...))
		}
		if len(bytes.TrimSpace(line)) == 0 {
			_ = http.NewResponseController(w).Flush()
			if x.Cut > 0 && len(x.Events) == x.Cut {
				panic(http.ErrAbortHandler)
			}
		}
		if err != nil {
			return
		}
	}
}

func (x *exchange) event(data []byte) {
	x.Events = append(x.Events, data)
	var e struct{ Response json.RawMessage }
	if json.Unmarshal(data, &e) == nil && e.Response != nil {
		x.Answer = e.Response
	}
}

// shown returns a case's exchanges as short text for a person.
func (p *recordingProxy) shown(name string) string {
	var all strings.Builder
	for _, x := range p.of(name) {
		fmt.Fprintf(&all, "%s %s\n  %s\n  %d %s\n", x.Method, x.Path, shortened(x.Request), x.Status, shortened(x.Answer))
	}
	return all.String()
}

func shortened(text []byte) string {
	if len(text) > 3000 {
		return string(text[:1500]) + " ... " + string(text[len(text)-1500:])
	}
	return string(text)
}
