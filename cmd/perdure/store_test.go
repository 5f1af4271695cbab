package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store/opentest"
	"github.com/perdure/perdure/llm/scripted"
)

// calls returns the model calls that the scripted provider has recorded in its journal in dir.
func calls(t *testing.T, dir string) (all []string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "journal"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		var c scripted.Call
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c.Model+" "+string(rune('0'+c.Turn)))
	}
	slices.Sort(all)
	return all
}

// devProcess is perdure dev with a client for it.
type devProcess struct {
	*program
	*client.Client
}

func startDev(t *testing.T, dir string, args ...string) devProcess {
	t.Helper()
	args = append([]string{"dev", "--addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0"}, args...)
	p := launchWith(t, dir, []string{"PERDURE_SCRIPTED_JOURNAL=" + filepath.Join(dir, "journal")}, args...)
	base := openedAt(p)
	p.until("bash ")
	c, err := client.New(client.Options{BaseURL: base, Key: tokenOf(t, dir)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return devProcess{p, c}
}

// read reads the log of a run, from the cursor until the text appears. It returns the cursor after the
// event with the text, and fails if the server sends a reset.
func (d devProcess) read(t *testing.T, id uuid.UUID, cursor, text string) (at string) {
	t.Helper()
	seen := ""
	for e, err := range d.Follow(t.Context(), id, cursor) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == "reset" {
			t.Fatalf("a reader after %q begins anew: %s", cursor, e.Data)
		}
		seen += string(e.Type) + " " + string(e.Data) + "\n"
		if strings.Contains(seen, text) {
			return e.Cursor
		}
	}
	t.Fatalf("the log ends without %q:\n%s", text, seen)
	return ""
}

// TestInterruptedRunsContinueInPostgreSQL kills a server while react agents run, and copies its store to
// PostgreSQL. It checks that the runs continue in PostgreSQL: no model call with a stored answer is
// repeated, and the interrupted tool runs only once. A message wakes a waiting run, and a reader continues
// after the last event that it received.
func TestInterruptedRunsContinueInPostgreSQL(t *testing.T) {
	longtest.Skip(t, "PostgreSQL")
	dir, url := t.TempDir(), opentest.URL(t)
	write(t, dir, "cut", strings.Replace(waiting, "echo here;", "echo ran >> ran; echo here;", 1))
	write(t, dir, "chat", "turn\n  text First answer.\nturn\n  text Second answer.\n")
	gate(t, dir, "gate")
	one := startDev(t, dir)
	start := func(args ...string) uuid.UUID {
		t.Helper()
		return uuid.MustParse(strings.TrimSpace(launch(t, dir, append(append([]string{"run", "--detach"}, args...), "go")...).wantEnd(0)))
	}
	cut, chat := start("--model", "scripted/cut"), start("--model", "scripted/chat", "--chat")
	pending := start("--model", "scripted/chat", "--queue", "nobodys")
	cutAt, chatAt := one.read(t, cut, "", "here\\n"), one.read(t, chat, "", "agent.waiting")
	launch(t, dir, "store", "copy", "--to", url).wantEnd(1, "owns the data directory")
	one.signal(syscall.SIGKILL)
	one.end()

	launch(t, dir, "store", "copy", "--to", url).wantEnd(0, "everything is there; start servers with --store")
	launch(t, dir, "dev", "--addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0").wantEnd(1, "has been moved to postgres://", "--store")
	launch(t, dir, "store", "copy", "--to", url).wantEnd(0, "already")
	launch(t, dir, "store", "check", "--store", url).wantEnd(0, "3 runs", "0 things are wrong")

	two := startDev(t, dir, "--store", url)
	two.read(t, cut, cutAt, "It was interrupted.")
	two.read(t, cut, cutAt, "agent.completed")
	if _, err := two.Signal(t.Context(), chat, client.SignalRequest{Name: "userMessage", Value: json.RawMessage(`{"text":"more"}`)}); err != nil {
		t.Fatal(err)
	}
	two.read(t, chat, chatAt, "Second answer.")
	if x, err := two.Get(t.Context(), pending); err != nil || x.Status != perdure.StatusPending {
		t.Errorf("the run that nobody has taken is %v, %v", x, err)
	}
	worker := launchWith(t, dir, []string{"PERDURE_SCRIPTED_JOURNAL=" + filepath.Join(dir, "journal")}, "worker", "--queue", "nobodys", "--data", dir+"/w", "--server", grpcOf(t, dir), "--key", tokenOf(t, dir))
	two.read(t, pending, "", "agent.completed")
	worker.signal(syscall.SIGTERM)
	worker.wantEnd(0)
	two.signal(syscall.SIGTERM)
	two.wantEnd(0)

	want := []string{"chat 1", "chat 1", "chat 2", "cut 1", "cut 2"}
	if got := calls(t, dir); !slices.Equal(got, want) {
		t.Errorf("models were called for %v, want %v", got, want)
	}
	if ran, err := os.ReadFile(filepath.Join(dir, "ran")); err != nil || string(ran) != "ran\n" {
		t.Errorf("the tool ran: %q, %v", ran, err)
	}
	opentest.Database(t, url)
	// The runs are in PostgreSQL now. The server refuses to open a data directory that still has the copied
	// file.
	if err := os.Remove(filepath.Join(dir, "d", "perdure.db")); err != nil {
		t.Fatal(err)
	}
}

func grpcOf(t *testing.T, dir string) string {
	t.Helper()
	o, err := connection.ReadOwner(filepath.Join(dir, "d"))
	if err != nil {
		t.Fatal(err)
	}
	return o.GRPC
}

func tokenOf(t *testing.T, dir string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "d", "token"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(raw))
}

// TestBackupCheckAndRestore creates a backup while a server runs. It checks that the restored store
// has the contents of the time of the backup, and that readers of its logs get a reset. The command
// perdure store check must find no damage in the store and in the backup. It must find a text that
// the test has changed in a copy of the backup.
func TestBackupCheckAndRestore(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	write(t, dir, "s", "turn\n  text "+strings.Repeat("Hello. ", 20)+"\n")
	one := startDev(t, dir)
	id := idIn(t, launch(t, dir, "run", "--model", "scripted/s", "go").wantEnd(0))
	cursor := one.read(t, uuid.MustParse(id), "", "agent.completed")
	launch(t, dir, "store", "backup", "backup.db").wantEnd(0, "the backup has")
	launch(t, dir, "store", "backup", "backup.db").wantEnd(1, "is there already")
	launch(t, dir, "store", "check").wantEnd(0, "1 runs", "0 things are wrong")
	launch(t, dir, "store", "check", "backup.db").wantEnd(0, "1 runs", "0 things are wrong")
	launch(t, dir, "run", "--model", "scripted/s", "after the backup").wantEnd(0)
	launch(t, dir, "store", "restore", "backup.db").wantEnd(1, "owns the data directory")
	one.signal(syscall.SIGTERM)
	one.wantEnd(0)
	launch(t, dir, "store", "restore", "backup.db").wantEnd(1, "there is a store")
	launch(t, dir, "store", "restore", "--replace", "backup.db").wantEnd(0)

	two := startDev(t, dir)
	page, err := two.Events(t.Context(), uuid.MustParse(id), cursor, 1)
	if err != nil || page.Reset == nil || page.Reset.Reason != "epoch" {
		t.Errorf("a reader from before goes on with %+v, %v", page, err)
	}
	two.signal(syscall.SIGTERM)
	two.wantEnd(0)
	if out := launch(t, dir, "runs", "--json").wantEnd(0); strings.Count(out, `"kind"`) != 1 {
		t.Errorf("these runs are restored:\n%s", out)
	}

	raw, err := os.ReadFile(filepath.Join(dir, "backup.db"))
	if err != nil {
		t.Fatal(err)
	}
	spoiled := strings.ReplaceAll(string(raw), "Hello. Hello.", "Hello. Jello.")
	if spoiled == string(raw) {
		t.Fatal("the backup does not have the text")
	}
	write(t, dir, "spoiled.db", spoiled)
	launch(t, dir, "store", "check", "spoiled.db").wantEnd(1, "run "+id+": the text with seq")
	if out := launch(t, dir, "store", "check", "--json", "spoiled.db").wantEnd(1); !strings.Contains(out, `"agentExecutionId": "`+id) {
		t.Errorf("as JSON it finds\n%s", out)
	}
}

func TestInvalidStoreCommandsAreRefused(t *testing.T) {
	dir := t.TempDir()
	launch(t, dir, "store", "backup", "x").wantEnd(1, "there is no store")
	launch(t, dir, "store", "check").wantEnd(1, "there is no store")
	launch(t, dir, "store", "backup", "--store", "postgres://db/x", "x").wantEnd(2, "pg_dump")
	launch(t, dir, "store", "backup", "--server", "http://x", "x").wantEnd(2, "--server")
	launch(t, dir, "store", "copy").wantEnd(2, "--to")
	launch(t, dir, "store", "copy", "--from", "x", "--to", "postgres://db/x").wantEnd(2, "sqlite:FILE")
	launch(t, dir, "store", "copy", "--to", "mysql://root:secret@db/x").wantEnd(2, "postgres://")
	launch(t, dir, "store", "none").wantEnd(2, "backup, check, copy, restore")
}
