package server_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/api/perdure/v1/pbconv"
	"github.com/perdure/perdure/internal/store/opentest"
	"github.com/perdure/perdure/server"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"
)

// openServer runs a server until the test ends. After the server has stopped, openServer checks that the
// database file is intact and that no goroutine remains.
func openServer(t *testing.T, c server.Config) *server.Server {
	t.Helper()
	before := goleak.IgnoreCurrent() // the database server that tests share continues after this test
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	c.Data = t.TempDir()
	opentest.Place(t, server.StoreFile(c.Data))
	s, err := server.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	over := make(chan error, 1)
	go func() { over <- s.Run(ctx) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if c.Store == "" {
			opentest.File(t, filepath.Join(s.Data, "perdure.db"))
		}
	})
	return s
}

func connect(t *testing.T, s *server.Server) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(s.GRPCAddress(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return conn
}

func withKey(ctx context.Context, key string) context.Context {
	if key == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+key)
}

// TestDevTokenIsPrivateAndNeeded checks that dev mode creates a token file that only the file's owner can
// read, and refuses HTTP and gRPC requests without the token. The next start keeps the token.
func TestDevTokenIsPrivateAndNeeded(t *testing.T) {
	s := openServer(t, server.Config{Dev: true, HTTPAddr: "127.0.0.1:0", GRPCAddr: "127.0.0.1:0"})
	file := server.TokenFile(s.Data)
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the token's file: %v, %v", info.Mode(), err)
	}
	raw, err := os.ReadFile(file)
	if err != nil || strings.TrimSpace(string(raw)) != s.Token() || len(s.Token()) < 32 {
		t.Errorf("the file holds %q, the token is %q (%v)", raw, s.Token(), err)
	}
	for key, want := range map[string]int{"": 401, "wrong": 401, s.Token(): 200} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.HTTPAddress()+"/api/orgs/default/agent-executions", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if key != "" {
			req.Header.Set("Authorization", "Bearer "+key)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		if err := res.Body.Close(); err != nil || res.StatusCode != want {
			t.Errorf("HTTP with the key %q: %d, want %d (%v)", key, res.StatusCode, want, err)
		}
	}
	worker := perdurev1.NewWorkerDispatchClient(connect(t, s))
	for key, want := range map[string]codes.Code{"": codes.Unauthenticated, "wrong": codes.Unauthenticated, s.Token(): codes.OK} {
		_, err := worker.Heartbeat(withKey(t.Context(), key), &perdurev1.HeartbeatRequest{})
		if grpcstatus.Code(err) != want {
			t.Errorf("gRPC with the key %q: %v, want %s", key, err, want)
		}
	}
}

// TestBindingElsewhereNeedsAKey checks that Listen refuses addresses that other machines can reach:
// always in dev mode, and otherwise as long as no API key exists.
func TestBindingElsewhereNeedsAKey(t *testing.T) {
	for _, dev := range []bool{true, false} {
		s, err := server.Open(t.Context(), server.Config{Data: t.TempDir(), Dev: dev, HTTPAddr: "127.0.0.1:0", GRPCAddr: "0.0.0.0:0"})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Listen(); !perdure.IsCode(err, perdure.InvalidArgument) {
			t.Errorf("dev %v: %v", dev, err)
		}
		if _, _, err := s.CreateKey(t.Context(), "acme", "first", perdure.KeyAdmin); err != nil {
			t.Fatal(err)
		}
		if err := s.Listen(); (err == nil) == dev {
			t.Errorf("with a key, dev %v: %v", dev, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestAppendedEntriesAreCheckedOverTheWire checks that a worker that is not written in Go may
// append entries one by one, and that the transcript rules apply to each entry. If an entry breaks
// a rule, the error is invalid_transcript and contains the id of the entry.
func TestAppendedEntriesAreCheckedOverTheWire(t *testing.T) {
	s := openServer(t, server.Config{Dev: true, HTTPAddr: "127.0.0.1:0", GRPCAddr: "127.0.0.1:0"})
	conn := connect(t, s)
	ctx := withKey(t.Context(), s.Token())
	w := claimOne(ctx, t, s, conn)
	question := w.entry(perdure.UserText("hi"))
	w.append(question, "")
	call := perdure.Part{Type: perdure.PartToolCall, ID: "c1", Name: "bash", RawArguments: "{}"}
	calls := w.entry(perdure.Message{Role: perdure.RoleAssistant, Content: perdure.Content{Parts: []perdure.Part{call}}})
	w.append(calls, "")
	w.append(w.entry(perdure.UserText("and?")), perdure.InvalidTranscript)
	picture := perdure.Part{Type: perdure.PartImage, Data: "aGk=", MimeType: "image/png"}
	w.append(w.entry(perdure.Message{Role: perdure.RoleToolResult, Content: perdure.Content{Parts: []perdure.Part{
		{Type: perdure.PartToolResult, ToolCallID: "c1", Parts: []perdure.Part{picture}},
	}}}), perdure.InvalidTranscript)
	w.append(w.entry(perdure.Message{Role: perdure.RoleToolResult, Content: perdure.Content{Parts: []perdure.Part{
		{Type: perdure.PartToolResult, ToolCallID: "another"},
	}}}), perdure.InvalidTranscript)
	empty := w.entry(perdure.UserText(""))
	empty.Content = nil
	w.append(empty, perdure.InvalidTranscript)
	result := w.entry(perdure.Message{Role: perdure.RoleToolResult, Content: perdure.Content{Parts: []perdure.Part{
		{Type: perdure.PartToolResult, ToolCallID: "c1"},
	}}})
	w.append(result, "")
	w.append(w.entry(perdure.UserText("and?")), "")
}

// foreignWorker plays a worker that is not written in Go: it sends gRPC requests without the Go
// worker library. It has claimed one execution.
type foreignWorker struct {
	*testing.T
	ctx    context.Context
	agents perdurev1.AgentDispatchClient
	lease  *perdurev1.Lease
	number int64
	leaf   *uuid.UUID
}

func claimOne(ctx context.Context, t *testing.T, s *server.Server, conn *grpc.ClientConn) *foreignWorker {
	t.Helper()
	d := s.Dispatch(server.DevOrg)
	worker := uuid.New()
	_, err := d.Register(ctx, perdure.Registration{WorkerID: worker, Queues: []string{"default"}, Agents: []perdure.KindSpec{{Kind: "agent"}}})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.HTTPAddress()+"/api/orgs/default/agent-executions", strings.NewReader(`{"kind":"agent"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Token())
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusCreated {
		t.Fatalf("the start gave %d (%v)", res.StatusCode, err)
	}
	claims, err := d.PollAgents(ctx, perdure.Poll{WorkerID: worker, Queues: []string{"default"}, Kinds: []string{"agent"}, Slots: 1, Wait: time.Minute})
	if err != nil || len(claims) != 1 {
		t.Fatalf("%d claims, %v", len(claims), err)
	}
	l := claims[0].Lease
	lease := &perdurev1.Lease{ExecutionId: l.ExecutionID[:], Fence: l.Fence, ClaimId: l.ClaimID[:]}
	return &foreignWorker{T: t, ctx: ctx, agents: perdurev1.NewAgentDispatchClient(conn), lease: lease}
}

func (w *foreignWorker) entry(m perdure.Message) perdure.Entry {
	w.Helper()
	e, err := perdure.NewMessageEntry(m)
	if err != nil {
		w.Fatal(err)
	}
	e.ParentID = w.leaf
	return e
}

// append appends one entry. The parameter `want` is the code of the error with which the server
// must refuse the entry; "" means that the server must accept it.
func (w *foreignWorker) append(e perdure.Entry, want perdure.Code) {
	w.Helper()
	m := &perdurev1.AppendEntryRequest{Lease: w.lease, Number: w.number + 1, Entry: &perdurev1.NewEntry{
		Entry: pbconv.EntryToProto(e), Content: pbconv.ContentToProto(e.Content, nil),
	}}
	_, err := w.agents.AppendEntry(w.ctx, m)
	if err != nil {
		err = pbconv.FromStatus(err)
	}
	if perdure.CodeOf(err) != want {
		w.Fatalf("the entry %s gave %v, want %q", e.Content, err, want)
	}
	if want == "" {
		w.number++
		w.leaf = &e.ID
		return
	}
	if !strings.Contains(err.Error(), e.ID.String()) {
		w.Errorf("the error does not name the entry: %v", err)
	}
}

// TestLeaseIsConfigured checks that Register returns the configured lease and payload limit.
func TestLeaseIsConfigured(t *testing.T) {
	s := openServer(t, server.Config{Dev: true, Lease: 3 * time.Second, PayloadLimit: 5 << 20})
	settings, err := s.Dispatch(server.DevOrg).Register(t.Context(), perdure.Registration{WorkerID: uuid.New()})
	if err != nil || settings.Lease != 3*time.Second || settings.PayloadLimit != 5<<20 {
		t.Errorf("workers are told %+v (%v)", settings, err)
	}
}
