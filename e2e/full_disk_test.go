package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/store/opentest"
	"github.com/perdure/perdure/worker/remote"
)

// smallDisk is the size in bytes of the volume that a test fills.
const smallDisk = 24 << 20

// smallDiskServer is a server whose data directory is on a small separate volume.
type smallDiskServer struct {
	*deployment
	disk *disk
	ops  string
}

func newSmallDiskServer(t *testing.T) *smallDiskServer {
	t.Helper()
	root := t.TempDir()
	data := filepath.Join(root, "data")
	s := &deployment{t: t, root: root, workspace: root, url: "http://" + freeAddress(t), rpc: freeAddress(t), env: environment(root)}
	c := &smallDiskServer{deployment: s, disk: newDisk(t, data, smallDisk), ops: freeAddress(t)}
	s.server = launch(t, command{name: "server", env: s.env, dir: root, argv: append(c.disk.enter(),
		program(t), "server", "--data", data, "--addr", strings.TrimPrefix(s.url, "http://"), "--grpc-addr", s.rpc, "--ops-addr", c.ops)})
	s.connect(c.disk.outside("token"))
	return c
}

// command returns a command of perdure on the data directory.
func (c *smallDiskServer) command(args ...string) command {
	argv := append(c.disk.enter(), program(c.t), "--data", filepath.Join(c.root, "data"))
	return command{name: args[0], env: c.env, dir: c.root, argv: append(argv, args...)}
}

// perdure runs a command and returns its output.
func (c *smallDiskServer) perdure(args ...string) string {
	c.t.Helper()
	p := launch(c.t, c.command(args...))
	if code := p.exit(); code != 0 {
		c.t.Fatalf("perdure %v ends with %d:\n%s", args, code, p.output)
	}
	return p.output.String()
}

// ready returns the response of /readyz.
func (c *smallDiskServer) ready() (code int, text string) {
	c.t.Helper()
	r, err := http.Get("http://" + c.ops + "/readyz")
	if err != nil {
		c.t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return r.StatusCode, string(body)
}

// files returns the contents of the volume's files, without empty files.
func (c *smallDiskServer) files() map[string][]byte {
	c.t.Helper()
	all := map[string][]byte{}
	entries, err := os.ReadDir(c.disk.outside(""))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		content, err := os.ReadFile(c.disk.outside(e.Name()))
		if err != nil {
			c.t.Fatal(err)
		}
		if len(content) > 0 {
			all[e.Name()] = content
		}
	}
	return all
}

// idle registers a worker for a kind of agent, so that runs of this kind can be created. The worker
// takes no work.
func (c *smallDiskServer) idle(kind string) {
	c.t.Helper()
	worker := uuid.New()
	d, err := remote.Dial(c.t.Context(), remote.Options{Addr: c.rpc, Token: c.token(c.disk.outside("")), WorkerID: worker, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	_, err = d.Register(c.t.Context(), perdure.Registration{WorkerID: worker, Queues: []string{"default"}, Agents: []perdure.KindSpec{{Kind: kind}}})
	if err != nil {
		c.t.Fatal(err)
	}
}

// add creates a run with a signal of 1 MB, and cancels the run.
func (c *smallDiskServer) add() (uuid.UUID, error) {
	x, err := c.Start(c.t.Context(), client.StartRequest{Kind: "idle"})
	if err != nil {
		return uuid.Nil, err
	}
	value := json.RawMessage(`"` + strings.Repeat("x", 1_000_000) + `"`)
	if _, err = c.Signal(c.t.Context(), x.ID, client.SignalRequest{Name: "big", Value: value}); err == nil {
		_, err = c.Cancel(c.t.Context(), x.ID)
	}
	return x.ID, err
}

// filled adds runs until two in a row are refused for lack of space, and returns the runs that were
// accepted. After a single refusal another run may still fit, because a refused write may free
// space.
func (c *smallDiskServer) filled() (runs []uuid.UUID) {
	c.t.Helper()
	refused := 0
	for range 64 {
		id, err := c.add()
		if err == nil {
			runs, refused = append(runs, id), 0
			continue
		}
		if refused++; refused < 2 {
			continue
		}
		var e *perdure.Error
		if !errors.As(err, &e) || e.Code != perdure.Unavailable || !strings.Contains(e.Message, "disk is full") {
			c.t.Fatalf("on a full disk a write gives %v", err)
		}
		return runs
	}
	c.t.Fatal("64 signals of 1 MB find room on the volume")
	return nil
}

func (c *smallDiskServer) restart() {
	c.t.Helper()
	c.server.kill()
	c.server = launch(c.t, c.server.command)
	c.connect(c.disk.outside("token"))
}

// TestServerRecoversFromAFullDisk fills a volume with signals of 1 MB. It checks that the server
// then refuses writes with the reason, and that /readyz reports the full disk. Deletes must work,
// and new writes must use the space that the deletes free. It must be possible to start a server on
// the full volume.
func TestServerRecoversFromAFullDisk(t *testing.T) {
	c := newSmallDiskServer(t)
	c.idle("idle")
	runs := c.filled()
	if len(runs) < 4 {
		t.Errorf("only %d signals of 1 MB fit into %d bytes", len(runs), smallDisk)
	}
	if code, text := c.ready(); code != http.StatusOK || !strings.Contains(text, `"check":"disk"`) || !strings.Contains(text, "disk is full") {
		t.Errorf("/readyz of a full disk: %d %s", code, text)
	}
	c.restart()
	for _, id := range runs {
		if x, err := c.Get(t.Context(), id); err != nil || x.Status != perdure.StatusCancelled {
			t.Fatalf("after a restart: %+v, %v", x, err)
		}
	}
	runs = append(runs, c.filled()...) // the start may have freed space
	if out := c.perdure("runs", "prune", "--older-than", "0"); !strings.Contains(out, fmt.Sprint(len(runs))) {
		t.Errorf("a prune of %d runs on a full disk prints %q", len(runs), out)
	}
	eventually(t, "the disk has room again", func() bool {
		_, text := c.ready()
		return !strings.Contains(text, `"check":"disk"`)
	})
	if _, err := c.add(); err != nil {
		t.Errorf("with room again a write gives %v", err)
	}
	c.server.terminate()
	if code := c.server.exit(); code != 0 {
		t.Errorf("the server ends with %d", code)
	}
	opentest.File(t, c.disk.copied("perdure.db"))
}

// TestReadOnlyCommandsWorkOnAFullDisk checks read-only commands on a volume without a free byte,
// after the server was killed. The commands must work, and write nothing.
func TestReadOnlyCommandsWorkOnAFullDisk(t *testing.T) {
	c := newSmallDiskServer(t)
	c.idle("idle")
	id, err := c.add()
	if err != nil {
		t.Fatal(err)
	}
	c.server.kill()
	c.disk.fill()
	before := c.files()
	for _, args := range [][]string{{"runs"}, {"show", "last", "--json"}, {"audit"}, {"orgs", "list"}} {
		c.perdure(args...)
	}
	if out := c.perdure("runs"); !strings.Contains(out, id.String()) {
		t.Errorf("perdure runs prints\n%s", out)
	}
	tail := launch(t, c.command("tail", "last"))
	if code := tail.exit(); code != 3 || !strings.Contains(tail.output.String(), "cancelled") {
		t.Errorf("perdure tail ends with %d:\n%s", code, tail.output)
	}
	for name, content := range c.files() {
		if !bytes.Equal(before[name], content) {
			t.Errorf("the commands that only ask write %s", name)
		}
	}
	c.disk.free()
}
