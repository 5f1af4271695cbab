package face_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os/exec"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	eventlog "github.com/perdure/perdure/internal/log"
	"github.com/perdure/perdure/internal/longtest"
)

// stranger runs e2e/logclient/client.py, a client that is written only from
// docs/reading-the-log.md. The client reads through a proxy that cuts its connections.
type stranger struct {
	t     *testing.T
	in    *json.Encoder
	out   *bufio.Reader
	proxy *cutter
}

func newStranger(t *testing.T) *stranger {
	t.Helper()
	longtest.Skip(t, "Python")
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "python3", "-B", "../../e2e/logclient/client.py")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v; scripts/deps.sh installs what the tests need", err)
	}
	s := &stranger{t, json.NewEncoder(in), bufio.NewReader(out), newCutter(t)}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the client: %v %s", err, said.String())
		}
	})
	return s
}

// way is a way in which the client reads a log.
type way struct {
	Transport string `json:"transport"`
	By        string `json:"by"`
	Stream    string `json:"stream,omitempty"`
	Types     string `json:"types,omitempty"`
	Limit     int    `json:"limit,omitempty"`
}

func (w way) String() string {
	return fmt.Sprintf("%s %s by %s %d %s", w.Transport, strings.ReplaceAll(w.Stream, "/", " "), w.By, w.Limit, w.Types)
}

// ways are all ways in which the client reads a log.
var ways = []way{
	{Transport: "sse", By: "cursor", Stream: "stream/consolidated"},
	{Transport: "sse", By: "seq", Stream: "stream/consolidated"},
	{Transport: "sse", By: "cursor", Stream: "stream"},
	{Transport: "sse", By: "seq", Stream: "stream"},
	{Transport: "sse", By: "cursor", Stream: "stream/consolidated", Types: "token,terminal,block.closed,task.completed,agent.completed"},
	{Transport: "websocket", By: "cursor", Limit: 5},
	{Transport: "websocket", By: "seq", Limit: 3},
	{Transport: "websocket", By: "seq", Limit: 1000},
}

// keeps reports whether a client that reads this way receives events of the type.
func (w way) keeps(t perdure.EventType) bool {
	switch {
	case w.Types != "":
		return t == "token" || t == "terminal" || t == "block.closed" || t == "task.completed" || t == "agent.completed"
	case w.Stream == "stream":
		return !t.IsTask() && t != perdure.EventTerminal
	}
	return true
}

// heldLog is the copy of a log that a client has built.
type heldLog struct {
	Events map[int64][]any // name and data of each event, by seq
	Blocks map[int64]heldBlock
}

type heldBlock struct{ Type, Text, State string }

// answer is what the client prints at the end of a log.
type answer struct {
	heldLog
	Wrong   []int64
	Gaps    []string
	Resets  int
	Refused string
}

// read lets the client read a log to its end, through the proxy.
func (s *stranger) read(h *testServer, id uuid.UUID, w way) answer {
	s.t.Helper()
	job := struct {
		way
		URL   string `json:"url"`
		Key   string `json:"key"`
		Pause int    `json:"pause"`
	}{w, "http://" + s.proxy.address() + org + h.Path(id, ""), h.ClientKey, 0}
	if err := s.in.Encode(job); err != nil {
		s.t.Fatal(err)
	}
	line, err := s.out.ReadBytes('\n')
	if err != nil {
		s.t.Fatalf("the client gave no answer: %v", err)
	}
	var a answer
	if err := json.Unmarshal(line, &a); err != nil {
		s.t.Fatalf("%v: %s", err, line)
	}
	return a
}

// differs returns the first difference between the client's copy of the log and `want`; "" if there
// is none.
func (a answer) differs(want heldLog, resets int) string {
	switch {
	case a.Refused != "" || len(a.Gaps) > 0 || len(a.Wrong) > 0 || a.Resets != resets:
		return fmt.Sprintf("refused %q, gaps %q, blocks that are wrong %v, %d resets, want %d", a.Refused, a.Gaps, a.Wrong, a.Resets, resets)
	case !reflect.DeepEqual(a.heldLog, want):
		return fmt.Sprintf("it holds\n%+v\nwant\n%+v", a.heldLog, want)
	}
	return ""
}

// stored returns the copy that a client must have after it has read the log in the given way. The
// copy is made from the store: events are rendered one by one, and blocks are read as a whole.
func (h *testServer) stored(id uuid.UUID, w way) heldLog {
	h.T.Helper()
	want := heldLog{map[int64][]any{}, map[int64]heldBlock{}}
	for after := int64(0); ; {
		events, head, err := h.Engine.Read().Events(h.T.Context(), id, after, after+1000)
		if err != nil {
			h.T.Fatal(err)
		}
		for _, e := range events {
			if after = e.Seq; e.Block != nil && w.keeps(e.Block.Type) {
				want.Blocks[e.Seq] = heldBlock{string(e.Block.Type), e.Block.Content, "open"}
			}
		}
		if after >= head.LastSeq || len(events) == 0 {
			break
		}
	}
	page, err := h.Log.Page(h.T.Context(), id, "", 1000)
	for ; err == nil; page, err = h.Log.Page(h.T.Context(), id, page.Next.String(), 1000) {
		for _, item := range page.Items {
			want.add(h.T, item, w)
		}
		if page.UpToDate {
			break
		}
	}
	if err != nil {
		h.T.Fatal(err)
	}
	return want
}

// add adds an event of the log to the copy. A chunk is added to its block.
func (l heldLog) add(t *testing.T, item eventlog.Item, w way) {
	t.Helper()
	var data map[string]any
	if err := json.Unmarshal(item.Data(), &data); err != nil {
		t.Fatal(err)
	}
	if _, chunk := data["offset"]; chunk || !w.keeps(item.Type) {
		return
	}
	l.Events[item.Seq] = []any{string(item.Event), data}
	if seq, ok := data["blockSeq"].(float64); ok {
		if b, held := l.Blocks[int64(seq)]; held {
			b.State, _ = data["reason"].(string)
			l.Blocks[int64(seq)] = b
		}
	}
}

// cutter is a proxy that can cut its connections.
type cutter struct {
	listener net.Listener
	open     sync.WaitGroup // counts the connections and the loop that accepts them

	mu    sync.Mutex // guards the fields below
	plan  func(n int) (to string, bytes int64)
	n     int        // number of connections until now
	last  int64      // bytes sent to the client over the newest connection
	conn  net.Conn   // the newest connection; nil after it was cut
	moved *sync.Cond // signals a change of the fields

	serving int // number of open connections
}

func newCutter(t *testing.T) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{listener: l}
	c.moved = sync.NewCond(&c.mu)
	c.open.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.serves(1)
			c.open.Go(func() { defer c.serves(-1); c.serve(conn) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); c.open.Wait() })
	return c
}

func (c *cutter) address() string { return c.listener.Addr().String() }

// follow sets the plan for the next connections. For the connection with the number n, counted from
// 0, the function `plan` returns the server's address and the number of bytes after which the proxy
// cuts the connection; -1 means never.
func (c *cutter) follow(plan func(n int) (string, int64)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plan, c.n, c.conn = plan, 0, nil
}

// given waits until all connections are closed. It returns the number of bytes sent to the client
// over the newest connection.
func (c *cutter) given() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.serving > 0 {
		c.moved.Wait()
	}
	return c.last
}

// connections returns the number of connections since follow was called.
func (c *cutter) connections() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// serves adds a number, which may be -1, to the number of open connections.
func (c *cutter) serves(more int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serving += more
	c.moved.Broadcast()
}

// Write counts the bytes that are sent to the client.
func (c *cutter) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last += int64(len(b))
	c.moved.Broadcast()
	return len(b), nil
}

// await waits until the client has connected again after the last cut, and has received `bytes`
// bytes over the new connection.
func (c *cutter) await(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.conn == nil || c.last < bytes {
		c.moved.Wait()
	}
}

// cut cuts the newest connection.
func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.conn.Close()
	c.conn = nil
}

func (c *cutter) next(client net.Conn) (string, int64) {
	c.mu.Lock()
	plan, n := c.plan, c.n
	c.n++
	c.conn, c.last = client, 0
	c.moved.Broadcast()
	c.mu.Unlock()
	return plan(n)
}

func (c *cutter) serve(client net.Conn) {
	defer client.Close() //nolint:errcheck // the proxy has cut it
	to, bytes := c.next(client)
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	var asked sync.WaitGroup
	asked.Go(func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	})
	from := io.Reader(server)
	if bytes >= 0 {
		from = io.LimitReader(server, bytes)
	}
	_, _ = io.Copy(io.MultiWriter(client, c), from)
	_ = client.Close()
	_ = server.Close()
	asked.Wait()
}
