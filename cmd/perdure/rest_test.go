package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/perdure/perdure/internal/longtest"
)

// devServer is a process of perdure dev, with what an HTTP client needs to send requests to that
// process.
type devServer struct {
	*program
	url, token string
	http       *http.Client
}

// openedAt returns the address that perdure dev prints, without the last slash.
func openedAt(p *program) string {
	p.t.Helper()
	return strings.TrimSuffix(strings.Fields(p.until("open "))[1], "/")
}

// serveDev starts perdure dev in dir.
func serveDev(t *testing.T, dir string, args ...string) *devServer {
	t.Helper()
	p := launch(t, dir, append([]string{"dev", "--addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0"}, args...)...)
	url, token := openedAt(p), tokenOf(t, dir)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &devServer{program: p, url: url + "/api/orgs/default", token: token, http: &http.Client{Transport: transport}}
}

// ask sends a request and returns the body of the response. The test fails if the response does not
// have the given status.
func (s *devServer) ask(method, path, body string, status int) []byte {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Content-Type", "application/json")
	res, err := s.http.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		s.t.Fatalf("%s %s: %d %v %s", method, path, res.StatusCode, err, raw)
	}
	return raw
}

func (s *devServer) get(path string, v any) {
	s.t.Helper()
	if err := json.Unmarshal(s.ask("GET", path, "", 200), v); err != nil {
		s.t.Fatal(err)
	}
}

// start starts a run and returns the path of its URL.
func (s *devServer) start(body string) string {
	s.t.Helper()
	var x struct{ ID string }
	if err := json.Unmarshal(s.ask("POST", "/agent-executions", body, 201), &x); err != nil {
		s.t.Fatal(err)
	}
	return "/agent-executions/" + x.ID
}

// logRecord is an event of a run's log, as REST returns it.
type logRecord struct {
	event string
	data  map[string]any
}

// logged reads the whole log of a run, to its end.
func (s *devServer) logged(at string) []logRecord {
	s.t.Helper()
	return s.logTo(at, func(e logRecord) bool { return e.event == "end" })
}

// logTo reads the log of a run up to the first event for which the function `last` returns true.
func (s *devServer) logTo(at string, last func(logRecord) bool) []logRecord {
	s.t.Helper()
	ctx, leave := context.WithCancel(s.t.Context())
	defer leave()
	req, err := http.NewRequestWithContext(ctx, "GET", s.url+at+"/stream/consolidated", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	res, err := s.http.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	var all []logRecord
	var e logRecord
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			s.t.Fatalf("after %d events: %v", len(all), err)
		}
		switch name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); name {
		case "event":
			e.event = value
		case "data":
			if err := json.Unmarshal([]byte(value), &e.data); err != nil {
				s.t.Fatal(err)
			}
		case "":
			if all = append(all, e); last(e) {
				return all
			}
			e = logRecord{}
		}
	}
}

// dataOf returns the member "data" of the event's data. The agent has written this member.
func (e logRecord) dataOf() map[string]any {
	inner, _ := e.data["data"].(map[string]any)
	return inner
}

// TestTerminalIsBoundedOverREST checks that at most 1 MiB of a command's output is stored, in whole
// characters. At that size the log block of the output is closed, exactly once, with the reason
// "truncated".
func TestTerminalIsBoundedOverREST(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	write(t, dir, "s", `turn
  call bash {"command": "head -c 1500000 /dev/zero | tr '\\0' x | sed 's/x/é/g' | head -c 1600001"}
turn
  text Done.
`)
	s := serveDev(t, dir)
	log := s.logged(s.start(`{"userPrompt":"do it","oneShot":true,"models":[{"provider":"scripted","modelId":"s"}],"tools":["bash"]}`))
	var text bytes.Buffer
	marks := 0
	for _, e := range log {
		if e.event == "terminal" {
			text.WriteString(e.data["data"].(string))
		}
		if e.event == "block.closed" && e.data["reason"] == "truncated" {
			if marks++; e.data["length"] != float64(text.Len()) {
				t.Errorf("it ends at %v, %d bytes came", e.data["length"], text.Len())
			}
		}
	}
	if marks != 1 || text.Len() > 1<<20 || text.Len() < 1<<20-3 || !utf8.Valid(text.Bytes()) {
		t.Errorf("%d bytes and %d marks came, UTF-8 %v", text.Len(), marks, utf8.Valid(text.Bytes()))
	}
}

// TestRunWaitsForTheUserOverREST checks a run that is not one-shot. After the model has answered,
// the status of the run says that the run waits for the user. The run continues with the user's
// next message, and can be cancelled.
func TestRunWaitsForTheUserOverREST(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	write(t, dir, "s", "turn\n  text Hello.\nturn\n  text Again.\n")
	s := serveDev(t, dir)
	at := s.start(`{"userPrompt":"hi","models":[{"provider":"scripted","modelId":"s"}]}`)
	log := s.logTo(at, func(e logRecord) bool { return e.event == "agent.waiting" && e.data["reason"] == "signal" })
	if last := log[len(log)-1]; last.data["status"] != "WAITING" || last.data["wait"] == nil {
		t.Errorf("it waits as %v", last.data)
	}
	var x struct{ Status, WaitReason string }
	s.get(at, &x)
	if x.Status != "WAITING" || x.WaitReason != "signal" {
		t.Errorf("it is %s for %q", x.Status, x.WaitReason)
	}
	s.ask("POST", at+"/signal", `{"signalName":"userMessage","signalValue":{"text":"more"}}`, 200)
	s.logTo(at, func(e logRecord) bool {
		content, _ := e.data["content"].(map[string]any)
		return e.event == "entry.appended" && strings.Contains(fmt.Sprint(content), "Again.")
	})
	s.ask("DELETE", at, "", 202)
	log = s.logged(at)
	if end := log[len(log)-2]; end.event != "agent.cancelled" || end.data["status"] != "CANCELLED" {
		t.Errorf("it ends with %v", end)
	}
}

// TestDevKnowsItsKindsBeforeItListens checks that perdure dev registers its kinds and writes the
// token's file before it listens, so that the first client can already start a run.
func TestDevKnowsItsKindsBeforeItListens(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "s", "turn\n  text Hello.\n")
	dev := launch(t, dir, "dev", "--addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0")
	socket := filepath.Join(dir, "d", "perdure.sock")
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		for { // repeated until perdure dev opens the socket, which it does before it opens its other listeners
			conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
			if err == nil || ctx.Err() != nil {
				return conn, err
			}
		}
	}}
	t.Cleanup(transport.CloseIdleConnections)
	s := &devServer{program: dev, url: "http://localhost/api/orgs/default", http: &http.Client{Transport: transport}}
	res, err := s.http.Get("http://localhost/healthz") // returns when perdure dev listens
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil || res.StatusCode != 200 {
		t.Fatalf("status %d, %v", res.StatusCode, err)
	}
	token, err := os.ReadFile(filepath.Join(dir, "d", "token"))
	if err != nil {
		t.Fatal(err)
	}
	s.token = strings.TrimSpace(string(token))
	s.start(`{"userPrompt":"hi","oneShot":true,"models":[{"provider":"scripted","modelId":"s"}]}`)
	dev.signal(syscall.SIGTERM)
	dev.wantEnd(0)
}

// TestBenchTakesItsFlags checks that perdure bench accepts flags for workloads, stores and workers, and
// prints its results as JSON.
func TestBenchTakesItsFlags(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	out := launch(t, dir, "bench", "--short", "--folder", dir, "--workload", "W1,W5", "--store", "sqlite", "--worker", "inprocess", "--json").wantEnd(0)
	var report struct {
		Results []struct{ Workload, Store, Worker string }
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	found := map[string]bool{}
	for _, r := range report.Results {
		found[r.Workload] = true
		if r.Store != "sqlite" || r.Worker != "inprocess" {
			t.Errorf("it measured %+v", r)
		}
	}
	if len(found) != 2 || !found["W1"] || !found["W5"] {
		t.Errorf("it measured %v", found)
	}
}
