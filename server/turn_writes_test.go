package server_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/store/opentest"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/openai"
	"github.com/perdure/perdure/react"
	"github.com/perdure/perdure/server"
	"github.com/perdure/perdure/tool"
	"github.com/perdure/perdure/worker"
	"github.com/perdure/perdure/worker/results"
)

// oneProcess is a server with a SQLite file and a worker in this process.
type oneProcess struct {
	testing.TB
	data, kept string // folders of the server's data and of the worker's results
	api        *client.Client
}

// newOneProcess runs a server and a worker with react agents, which call the model at the URL
// `model`.
func newOneProcess(t testing.TB, model string) *oneProcess {
	t.Helper()
	p := &oneProcess{TB: t, data: t.TempDir(), kept: t.TempDir()}
	opentest.Place(t, server.StoreFile(p.data))
	s, err := server.Open(t.Context(), server.Config{Data: p.data, Dev: true, GRPCAddr: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 2)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	go func() { ended <- s.Run(ctx) }()
	w := p.worker(s.Dispatch(server.DevOrg), model)
	go func() { ended <- w.Run(ctx) }()
	<-w.Registered()
	p.api = client.Socket(s.Socket(), s.Token())
	t.Cleanup(func() {
		p.api.Close()
		stop()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p *oneProcess) worker(d perdure.Dispatch, model string) *worker.Worker {
	p.Helper()
	endpoints, err := llm.NewEndpoints(func(name string) string {
		return map[string]string{"OPENAI_BASE_URL": model, "OPENAI_API_KEY": "sk-0123456789abcdef"}[name]
	})
	if err != nil {
		p.Fatal(err)
	}
	kept, err := results.Open(p.kept, results.Options{})
	if err != nil {
		p.Fatal(err)
	}
	web := llm.NewClient(llm.TransportConfig{AllowHosts: endpoints.Hosts(), AllowLoopback: true})
	c := react.Config{
		Providers: llm.NewProviders(openai.New(openai.Config{Endpoints: endpoints, Client: web})),
		Workspaces: func(dir string) (*tool.Workspace, error) {
			return tool.OpenWorkspace(p.data, dir, tool.WorkspaceOptions{})
		},
	}
	w := worker.New(worker.Config{Dispatch: d, Drain: time.Second, Results: kept, Logger: slog.New(slog.DiscardHandler)})
	w.RegisterAgent(react.Agent(c))
	for _, task := range react.Tasks(c) {
		w.RegisterTask(task)
	}
	return w
}

// run starts a run of one turn and returns once it has completed.
func (p *oneProcess) run() {
	p.Helper()
	x, err := p.api.Start(p.Context(), client.StartRequest{
		UserPrompt: "go", OneShot: true, Models: []perdure.ModelConfig{{Provider: openai.Name, ModelID: "m"}},
	})
	if err != nil {
		p.Fatal(err)
	}
	for event, err := range p.api.Follow(p.Context(), x.ID, "") {
		switch {
		case err != nil:
			p.Fatal(err)
		case event.Type == perdure.EventFailed:
			p.Fatalf("the run failed: %s", event.Data)
		case event.Type == perdure.EventCompleted:
			return
		}
	}
	p.Fatal("the log ended before the run")
}

// logged returns the number of commits in the write-ahead log, and the log's size in bytes.
func (p *oneProcess) logged() (commits int, size int64) {
	p.Helper()
	raw, err := os.ReadFile(filepath.Join(p.data, "perdure.db-wal"))
	if err != nil {
		p.Fatal(err)
	}
	const header, frameHeader = 32, 24 // sizes in SQLite's file format
	page := int(binary.BigEndian.Uint32(raw[8:]))
	salts := string(raw[16:24])
	for at := header; at+frameHeader+page <= len(raw) && string(raw[at+8:at+16]) == salts; at += frameHeader + page {
		if binary.BigEndian.Uint32(raw[at+4:]) != 0 {
			commits++
		}
	}
	return commits, int64(len(raw))
}

// speaking serves a model that answers each call with the text, in one piece. It returns the model's
// URL.
func speaking(t testing.TB, text string) (url string) {
	t.Helper()
	said, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	const chunk = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":%s}\n\n"
	var answer strings.Builder
	fmt.Fprintf(&answer, chunk, fmt.Sprintf(`[{"index":0,"delta":{"role":"assistant","content":%s}}]`, said))
	fmt.Fprintf(&answer, chunk, `[{"index":0,"delta":{},"finish_reason":"stop"}]`)
	fmt.Fprintf(&answer, chunk, `[],"usage":{"prompt_tokens":10,"completion_tokens":500,"total_tokens":510}`)
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, answer.String()+"data: [DONE]\n\n")
	}))
	t.Cleanup(model.Close)
	return model.URL
}

// TestWhatATurnWrites checks that a run of one turn with 2 KiB of text makes at most six commits: the
// start of the run, its claim, the model's task, the text, the ends of task and block, and the end of
// the run. The write-ahead log grows by at most 420 KiB.
func TestWhatATurnWrites(t *testing.T) {
	p := newOneProcess(t, speaking(t, strings.Repeat("What is said. 0123456789abcdefg\n", 64)))
	p.run() // the first run also writes rows that all runs share
	commitsBefore, before := p.logged()
	p.run()
	commits, size := p.logged()
	if n := commits - commitsBefore; n > 6 {
		t.Errorf("the turn was %d commits, want at most 6", n)
	}
	if n := size - before; n > 420<<10 {
		t.Errorf("the log grew by %d bytes, want at most 420 KiB", n)
	}
}
