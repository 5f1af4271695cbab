package client

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

var anID = uuid.MustParse("01a1fc84-46e5-7b0a-a4e9-4a14f3bc5720")

// receivedRequest is a request as the server received it.
type receivedRequest struct {
	Line, Key, Body string
	Header          http.Header
}

// answer creates a client whose server sends the same response to every request. It also returns the
// newest request that the server has received.
func answer(t *testing.T, status int, body string) (*Client, *receivedRequest) {
	t.Helper()
	s := &receivedRequest{}
	c, _ := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		*s = receivedRequest{Line: r.Method + " " + r.URL.RequestURI(), Key: r.Header.Get("Authorization"), Body: string(raw), Header: r.Header}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	return c, s
}

func TestCallsSendTheRequestsOfTheAPI(t *testing.T) {
	const base = "/api/orgs/default/"
	one := base + "agent-executions/" + anID.String()
	none := `{"items":[],"nextCursor":null}`
	for name, c := range map[string]struct {
		answer, line, body string
		call               func(*Client) error
	}{
		"get":         {"{}", "GET " + one, "", func(c *Client) error { _, err := c.Get(t.Context(), anID); return err }},
		"cancel":      {"{}", "DELETE " + one, "", func(c *Client) error { _, err := c.Cancel(t.Context(), anID); return err }},
		"checkpoint":  {"{}", "GET " + one + "/checkpoints/latest", "", func(c *Client) error { _, err := c.Checkpoint(t.Context(), anID, 0); return err }},
		"checkpoint3": {"{}", "GET " + one + "/checkpoints/3", "", func(c *Client) error { _, err := c.Checkpoint(t.Context(), anID, 3); return err }},
		"snapshot":    {"{}", "GET " + one + "/snapshot?entries=0", "", func(c *Client) error { _, err := c.Snapshot(t.Context(), anID, 0); return err }},
		"events":      {"{}", "GET " + one + "/events?after=a%2Bb&limit=7", "", func(c *Client) error { _, err := c.Events(t.Context(), anID, "a+b", 7); return err }},
		"entry":       {"{}", "GET " + one + "/entries/" + anID.String(), "", func(c *Client) error { _, err := c.Entry(t.Context(), anID, anID); return err }},
		"all tasks": {none, "GET " + one + "/tasks?limit=200&steps=true", "", func(c *Client) error {
			for _, err := range c.AllTasks(t.Context(), anID) {
				return err
			}
			return nil
		}},
		"signals": {none, "GET " + one + "/signals?limit=200", "", func(c *Client) error {
			for _, err := range c.Signals(t.Context(), anID) {
				return err
			}
			return nil
		}},
		"signal": {"{}", "POST " + one + "/signal", `{"signalName":"userMessage","signalValue":{"text":"a \"b\""}}`, func(c *Client) error {
			_, err := c.Signal(t.Context(), anID, UserMessage(`a "b"`))
			return err
		}},
		"list": {none, "GET " + base + "agent-executions?failedTurn=true&kind=k&limit=200&metadata.a=b+c&status=FAILED&status=RUNNING", "", func(c *Client) error {
			for _, err := range c.List(t.Context(), ExecutionFilter{Kind: "k", FailedTurn: true, Metadata: map[string]string{"a": "b c"}, Status: []perdure.Status{"FAILED", "RUNNING"}}) {
				return err
			}
			return nil
		}},
		"delete definition": {"", "DELETE " + base + "agent-definitions/" + anID.String(), "", func(c *Client) error { return c.DeleteDefinition(t.Context(), anID) }},
		"create key": {"{}", "POST " + base + "keys", `{"name":"n","role":"worker"}`, func(c *Client) error {
			_, err := c.CreateKey(t.Context(), "n", perdure.KeyWorker)
			return err
		}},
		"revoke key":     {"{}", "DELETE " + base + "keys/" + anID.String(), "", func(c *Client) error { _, err := c.RevokeKey(t.Context(), anID); return err }},
		"revoke session": {"{}", "DELETE " + base + "sessions/" + anID.String(), "", func(c *Client) error { _, err := c.RevokeSession(t.Context(), anID); return err }},
	} {
		client, asked := answer(t, 200, c.answer)
		if err := c.call(client); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if asked.Line != c.line || asked.Key != "Bearer secret" || asked.Body != c.body {
			t.Errorf("%s: asked %+v\nwant %s %s", name, *asked, c.line, c.body)
		}
	}
}

func TestStartSendsWhatIsGivenAndNothingElse(t *testing.T) {
	c, asked := answer(t, 201, `{"id":"`+anID.String()+`","status":"PENDING","createdAt":"2026-01-02T03:04:05.678Z"}`)
	none := []string{}
	x, err := c.Start(t.Context(), StartRequest{
		UserPrompt: "hi", Models: []perdure.ModelConfig{{Provider: "p", ModelID: "m"}}, Tools: &none, OneShot: true, IdempotencyKey: "k",
	})
	if err != nil || x.ID != anID || x.Status != perdure.StatusPending || x.CreatedAt.String() != "2026-01-02T03:04:05.678Z" {
		t.Fatalf("%+v, %v", x, err)
	}
	want := `{"userPrompt":"hi","models":[{"provider":"p","modelId":"m"}],"tools":[],"oneShot":true}`
	if asked.Body != want || asked.Header.Get("Idempotency-Key") != "k" || asked.Header.Get("Content-Type") != "application/json" {
		t.Errorf("asked %+v", *asked)
	}
}

func TestErrorsKeepCodeAndFields(t *testing.T) {
	c, _ := answer(t, 400, `{"type":"/docs#invalid_argument","title":"t","status":400,"detail":"models: must name one","code":"invalid_argument",
		"errors":[{"location":"models","message":"must name one"}]}`)
	_, err := c.Start(t.Context(), StartRequest{})
	want := &perdure.Error{
		Code: perdure.InvalidArgument, Message: "models: must name one", Fields: []perdure.FieldError{{Location: "models", Message: "must name one"}},
	}
	if diff := cmp.Diff(error(want), err); diff != "" {
		t.Error(diff)
	}
}

// TestErrorsWithoutACodeAreTakenByStatus checks that a response without a code, such as a proxy's,
// gets the code for its HTTP status.
func TestErrorsWithoutACodeAreTakenByStatus(t *testing.T) {
	for status, code := range map[int]perdure.Code{
		401: perdure.Unauthenticated, 404: perdure.NotFound, 409: perdure.Conflict, 413: perdure.PayloadTooLarge,
		429: perdure.RateLimited, 500: perdure.Internal, 502: perdure.Unavailable, 503: perdure.Unavailable, 504: perdure.Unavailable,
	} {
		c, _ := answer(t, status, "<html>")
		if _, err := c.Get(t.Context(), anID); !perdure.IsCode(err, code) {
			t.Errorf("%d: %v, want %s", status, err, code)
		}
	}
}

func TestListGoesThroughAllPages(t *testing.T) {
	c, _ := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next := map[string]string{"": `"two"`, "two": `"three"`, "three": "null"}[r.URL.Query().Get("cursor")]
		fmt.Fprintf(w, `{"items":[{"kind":"k%s"}],"nextCursor":%s}`, r.URL.Query().Get("cursor"), next)
	}))
	var kinds []string
	for x, err := range c.List(t.Context(), ExecutionFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, x.Kind)
	}
	if diff := cmp.Diff([]string{"k", "ktwo", "kthree"}, kinds); diff != "" {
		t.Error(diff)
	}
}

// TestListContinuesAfterAnEmptyPage checks that an empty page with a next cursor is not the end of the
// list.
func TestListContinuesAfterAnEmptyPage(t *testing.T) {
	c, _ := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, map[string]string{
			"": `{"items":[],"nextCursor":"two"}`, "two": `{"items":[],"nextCursor":"three"}`, "three": `{"items":[{"kind":"k"}],"nextCursor":null}`,
		}[r.URL.Query().Get("cursor")])
	}))
	n := 0
	for _, err := range c.List(t.Context(), ExecutionFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("the list has %d executions, want 1", n)
	}
}

func TestPutDefinitionNamesTheVersion(t *testing.T) {
	c, asked := answer(t, 200, "{}")
	d := perdure.Definition{ID: anID, Name: "n", Version: 4, Tools: []string{}, Models: []perdure.ModelConfig{{Provider: "p", ModelID: "m"}}}
	if _, err := c.PutDefinition(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	var body map[string]any
	if err := json.Unmarshal([]byte(asked.Body), &body); err != nil {
		t.Fatal(err)
	}
	if asked.Header.Get("If-Match") != `"4"` || body["name"] != "n" || body["id"] != nil || body["version"] != nil {
		t.Errorf("asked %+v", *asked)
	}
}

func TestSocketSpeaksToASocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"kind":%q}`, r.Host+" "+r.Header.Get("Authorization"))
	})}
	served := make(chan error, 1)
	go func() { served <- web.Serve(l) }()
	defer func() { _ = web.Close(); <-served }()
	c := Socket(path, "token")
	defer c.Close()
	x, err := c.Get(t.Context(), anID)
	if err != nil || x.Kind != "localhost Bearer token" {
		t.Errorf("%+v, %v", x, err)
	}
}

func TestUnreachableServerIsUnavailable(t *testing.T) {
	c := Socket(filepath.Join(t.TempDir(), "none"), "token")
	if _, err := c.Get(t.Context(), anID); !perdure.IsCode(err, perdure.Unavailable) {
		t.Error(err)
	}
}

func TestNewRefusesWhatIsNoAddress(t *testing.T) {
	for _, address := range []string{"", "localhost:8080", "ftp://x", "http://"} {
		if _, err := New(Options{BaseURL: address}); !perdure.IsCode(err, perdure.InvalidArgument) {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func FuzzFrames(f *testing.F) {
	f.Add("id: c1\r\nevent: token\r\ndata: {}\r\n\r\n: comment\n\ndata: a\ndata: b\n\n")
	f.Fuzz(func(t *testing.T, stream string) {
		in := newFrames(strings.NewReader(stream), func() {})
		for {
			e, err := in.next()
			if err != nil {
				return
			}
			if e.Cursor == "" && e.Type == "" && e.Data == nil {
				t.Fatalf("an event of nothing in %q", stream)
			}
			if strings.ContainsAny(e.Cursor+string(e.Type), "\n") {
				t.Fatalf("a line end inside %+v", e)
			}
		}
	})
}

func TestFramesReadWhatTheStandardSays(t *testing.T) {
	in := newFrames(strings.NewReader(": hello\n\nid: c1\r\nevent: token\r\ndata: one\r\ndata:two\r\n\r\nretry: 5\nid:c2\ndata\n\ndata: lost"), func() {})
	var got []Event
	for {
		e, err := in.next()
		if err != nil {
			break
		}
		got = append(got, e)
	}
	want := []Event{{Cursor: "c1", Type: "token", Data: json.RawMessage("one\ntwo")}, {Cursor: "c2", Data: json.RawMessage(nil)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
