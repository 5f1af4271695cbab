package main

import (
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/pagecheck"
)

var scriptedModels = []perdure.ModelConfig{{Provider: "scripted", ModelID: "s"}}

// fill stores ended runs with prompts of 30 KB.
func (d devProcess) fill(t *testing.T, runs int) {
	t.Helper()
	for i := range runs {
		prompt := strings.Repeat(fmt.Sprint("prompt ", i, " "), 2500)
		x, err := d.Start(t.Context(), client.StartRequest{UserPrompt: prompt, Queue: "nobody", Models: scriptedModels})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Cancel(t.Context(), x.ID); err != nil {
			t.Fatal(err)
		}
	}
}

// spoilPage overwrites a page in the middle of a table or an index of the closed store in dir. The
// returned function `mend` writes the original page back.
func spoilPage(t *testing.T, dir, name string) (mend func()) {
	t.Helper()
	path := filepath.Join(dir, "d", "perdure.db")
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro&immutable=1")
	if err != nil {
		t.Fatal(err)
	}
	var page int64
	err = db.QueryRow(`SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path
		LIMIT 1 OFFSET (SELECT count(*) / 2 FROM dbstat WHERE name = ? AND pagetype = 'leaf')`, name, name).Scan(&page)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	old := make([]byte, 4096)
	if _, err := f.ReadAt(old, (page-1)*4096); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(strings.Repeat("garbage ", 512)), (page-1)*4096); err != nil {
		t.Fatal(err)
	}
	return func() {
		if _, err := f.WriteAt(old, (page-1)*4096); err != nil {
			t.Fatal(err)
		}
	}
}

// ready requests /readyz.
func ready(t *testing.T, base string) (status int, body string) {
	t.Helper()
	res, err := http.Get(base + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(raw)
}

// TestDamageEndsTheServer checks what happens if a server was killed and a page of its store is
// damaged afterwards. The next server finds the damaged page after its start: it refuses writes,
// reports that it is not ready, and ends with exit code 1. With --check=before, a server finds the
// damage before it starts. Once a server has found the damage, every start fails until the page is
// repaired.
func TestDamageEndsTheServer(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, name := range []string{"agent_execution", "sqlite_autoindex_agent_execution_1"} {
		t.Run(name, func(t *testing.T) {
			t.Cleanup(http.DefaultClient.CloseIdleConnections)
			dir := t.TempDir()
			mark := pagecheck.MarkOf(filepath.Join(dir, "d", "perdure.db"))
			d := startDev(t, dir)
			d.fill(t, 200)
			d.stop()
			if state, err := mark.Read(); state != pagecheck.Checked || err != nil {
				t.Errorf("an orderly end leaves a mark that says %v, %v", state, err)
			}
			d = startDev(t, dir)
			d.signal(syscall.SIGKILL)
			d.end()
			checked := launch(t, dir, "store", "check")
			checked.wantEnd(0, "the store is unchecked")
			mend := spoilPage(t, dir, name)
			launch(t, dir, "dev", "--addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0", "--check", "before").wantEnd(1, "the database is damaged", "page ")

			p := launch(t, dir, "dev", "--addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0", "--drain-delay", "1h")
			base := openedAt(p)
			p.until("bash ")
			status, body := ready(t, base)
			for status == http.StatusOK { // until the check has reached the page
				status, body = ready(t, base)
			}
			if status != http.StatusServiceUnavailable || !strings.Contains(body, "the database is damaged") {
				t.Errorf("/readyz answers %d %s", status, body)
			}
			c, err := client.New(client.Options{BaseURL: base, Key: tokenOf(t, dir)})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := c.Start(t.Context(), client.StartRequest{UserPrompt: "go", Models: scriptedModels}); err == nil || !strings.Contains(err.Error(), "unavailable") {
				t.Errorf("a write gives %v", err)
			}
			p.signal(syscall.SIGTERM)
			p.wantEnd(1, "the database is damaged", "page ")

			launch(t, dir, "dev", "--addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0").wantEnd(1, "the database is damaged")
			mend()
			d = startDev(t, dir)
			d.stop()
		})
	}
}

// TestUnusableDatabaseFilesAreNamed checks that each command that opens the data directory names the database
// file that is damaged, or that belongs to another program, and says what to do. The file of another program is
// left as it is.
func TestUnusableDatabaseFilesAreNamed(t *testing.T) {
	longtest.Skip(t, "seconds")
	commands := [][]string{
		{"runs"},
		{"show", "last"},
		{"runs", "prune", "--older-than", "0"},
		{"run", "--model", "scripted/s", "go"},
		{"store", "check"},
		{"dev", "--addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0"},
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "d", "perdure.db")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	start := func(args ...string) *program { // the folder has no store whose invariants can be checked
		audited.Store(dir, true)
		return launch(t, dir, args...)
	}
	write(t, dir, "d/perdure.db", strings.Repeat("this is no database ", 1000))
	for _, args := range commands {
		start(args...).wantEnd(1, "the database is damaged", path, "perdure store restore --replace FILE", "perdure store check FILE")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE mine (a)"); err != nil {
		t.Fatal(err)
	}
	for _, args := range commands {
		start(args...).wantEnd(2, path+" is the database of another program", "another data directory")
	}
	var tables string
	if err := db.QueryRowContext(t.Context(), "SELECT group_concat(name) FROM sqlite_schema").Scan(&tables); err != nil || tables != "mine" {
		t.Errorf("the other program's database has the tables %s, %v", tables, err)
	}
}

// TestInvalidTimeOfTheCheckIsRefused checks that an invalid value of --check is refused.
func TestInvalidTimeOfTheCheckIsRefused(t *testing.T) {
	dir := t.TempDir()
	for _, command := range []string{"dev", "server", "worker"} {
		launch(t, dir, command, "--check", "later").wantEnd(2, "--check later", "give background or before")
	}
}
