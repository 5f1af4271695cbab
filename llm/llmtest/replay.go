package llmtest

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/llm"
)

// recordedCall is a recorded call of a provider: its request, the HTTP request that it sent, the
// answer of the server, and the provider's result. BaseURL is empty for the provider's default
// server.
type recordedCall struct {
	BaseURL string
	Request llm.Request
	Sent    struct {
		Method, URL string
		Header      map[string]string
		Body        json.RawMessage
	}
	Answer   recordedAnswer
	Deltas   []llm.Delta
	Response *llm.Response
	Error    *llm.Error
}

// recordedAnswer is a recorded answer of a server. If Broken is set, the connection failed: before
// any answer if Status is 0, otherwise after Body. Error is the error of the transport; it is nil
// if that error is not an *llm.Error.
type recordedAnswer struct {
	Status int
	Header map[string]string
	Body   string
	Broken bool
	Error  *llm.Error
}

// Replay repeats the recorded calls in a file, and compares the requests and the results with the
// recorded ones. It fails the test if the file has fewer than `least` calls. The parameter
// `ordered` lists the members of a body in which the order of keys is compared.
func (r Remote) Replay(t *testing.T, file string, least int, ordered ...string) {
	calls := recordedCalls(t, file)
	if len(calls) < least {
		t.Fatalf("only %d calls were found", len(calls))
	}
	for i, c := range calls {
		t.Run(strconv.Itoa(i), func(t *testing.T) { c.check(t, r, ordered) })
	}
}

func recordedCalls(t *testing.T, name string) (calls []recordedCall) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	text, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	for in := json.NewDecoder(text); ; {
		var c recordedCall
		if err := in.Decode(&c); errors.Is(err, io.EOF) {
			return calls
		} else if err != nil {
			t.Fatal(err)
		}
		calls = append(calls, c)
	}
}

func (c recordedCall) check(t *testing.T, r Remote, ordered []string) {
	env := map[string]string{
		r.BaseEnv: cmp.Or(c.BaseURL, "https://model.example"+r.BasePath),
		r.KeyEnv:  strings.TrimPrefix(c.Sent.Header[r.SentKey], "Bearer "),
	}
	endpoints, err := llm.NewEndpoints(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	line := &playback{answer: c.Answer}
	resp, deltas, err := TryAsk(t.Context(), r.New(endpoints, &http.Client{Transport: line}), c.Request)
	c.checkSent(t, line, ordered)
	var failed *llm.Error
	if err != nil && !errors.As(err, &failed) {
		t.Fatalf("the error is %v", err)
	}
	if failed != nil {
		plain := *failed
		plain.Err, failed = nil, &plain
	}
	for name, pair := range map[string][2]any{
		"deltas": {c.Deltas, deltas}, "response": {c.Response, resp}, "error": {c.Error, failed},
	} {
		if diff := gocmp.Diff(decoded(t, pair[0]), decoded(t, pair[1])); diff != "" {
			t.Errorf("%s (-recorded +now):\n%s", name, diff)
		}
	}
}

// checkSent compares the sent request with the recorded one. It compares the order of keys only in
// the members that `ordered` lists.
func (c recordedCall) checkSent(t *testing.T, line *playback, ordered []string) {
	t.Helper()
	if got := line.method + " " + line.url; got != c.Sent.Method+" "+c.Sent.URL || line.times != 1 {
		t.Errorf("%d requests, the last one is %s, want %s %s", line.times, got, c.Sent.Method, c.Sent.URL)
	}
	for name, want := range c.Sent.Header {
		if got := line.header.Get(name); got != want {
			t.Errorf("header %s is %q, want %q", name, got, want)
		}
	}
	if diff := gocmp.Diff(decoded(t, c.Sent.Body), decoded(t, json.RawMessage(line.body))); diff != "" {
		t.Errorf("body (-recorded +now):\n%s", diff)
	}
	var want, got map[string]json.RawMessage
	if json.Unmarshal(c.Sent.Body, &want) != nil || json.Unmarshal(line.body, &got) != nil {
		t.Fatalf("sent %s", line.body)
	}
	for _, member := range ordered {
		if !bytes.Equal(want[member], got[member]) {
			t.Errorf("%s is %s, recorded was %s", member, got[member], want[member])
		}
	}
}

// decoded returns the value as decoded JSON, with exact numbers.
func decoded(t *testing.T, v any) any {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	in := json.NewDecoder(bytes.NewReader(raw))
	in.UseNumber()
	var out any
	if err := in.Decode(&out); err != nil {
		t.Fatal(err)
	}
	if list, ok := out.([]any); ok && len(list) == 0 {
		return nil
	}
	return out
}

// playback is a transport that answers with a recorded answer and stores the request.
type playback struct {
	answer      recordedAnswer
	times       int
	method, url string
	header      http.Header
	body        []byte
}

var errBroken = errors.New("connection reset")

func (p *playback) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	p.times++
	p.method, p.url, p.header, p.body = req.Method, req.URL.RequestURI(), req.Header, body
	broken := error(errBroken)
	if p.answer.Error != nil {
		broken = p.answer.Error
	}
	if p.answer.Status == 0 {
		return nil, broken
	}
	resp := &http.Response{StatusCode: p.answer.Status, Header: http.Header{}, Request: req}
	for name, value := range p.answer.Header {
		resp.Header.Set(name, value)
	}
	var in io.Reader = strings.NewReader(p.answer.Body)
	if p.answer.Broken {
		in = io.MultiReader(in, failing{broken})
	}
	resp.Body = io.NopCloser(bufio.NewReaderSize(in, 16)) // makes reads small
	return resp, nil
}

// failing is a reader that always returns an error.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
