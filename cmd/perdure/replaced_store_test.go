package main

import (
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store/opentest"
	"github.com/perdure/perdure/internal/store/postgres/cluster"
	_ "modernc.org/sqlite"
)

// conversation is a run that has a conversation, on a server whose store the test replaces with an older
// copy.
type conversation struct {
	t    *testing.T
	dir  string
	args []string
	devProcess
	chat uuid.UUID
}

func startConversation(t *testing.T, args ...string) *conversation {
	t.Helper()
	c := &conversation{t: t, dir: t.TempDir(), args: args}
	write(t, c.dir, "chat", strings.Repeat("turn\n  text An answer in some words.\n", 9))
	c.start()
	c.chat = uuid.MustParse(strings.TrimSpace(launch(t, c.dir, "run", "--detach", "--model", "scripted/chat", "--chat", "go").wantEnd(0)))
	return c
}

func (c *conversation) start() { c.devProcess = startDev(c.t, c.dir, c.args...) }

func (c *conversation) say() {
	c.t.Helper()
	if _, err := c.Signal(c.t.Context(), c.chat, client.SignalRequest{Name: perdure.UserMessage, Value: json.RawMessage(`{"text":"more"}`)}); err != nil {
		c.t.Fatal(err)
	}
}

// cursors reads the log until the agent waits for its nth message. It returns the cursor of each position
// in the log.
func (c *conversation) cursors(n int) map[int64]string {
	c.t.Helper()
	given := map[int64]string{}
	for e, err := range c.Follow(c.t.Context(), c.chat, "") {
		if err != nil {
			c.t.Fatal(err)
		}
		at, err := perdure.ParseCursor(e.Cursor)
		if err != nil {
			c.t.Fatal(err)
		}
		given[at.Pos] = e.Cursor
		if e.Type == perdure.EventWaiting && strings.Contains(string(e.Data), perdure.UserMessage) {
			if n--; n == 0 {
				break
			}
		}
	}
	return given
}

// first returns the first event that a reader with the cursor receives.
func (c *conversation) first(cursor string) client.Event {
	c.t.Helper()
	for e, err := range c.Follow(c.t.Context(), c.chat, cursor) {
		if err != nil {
			c.t.Fatal(err)
		}
		return e
	}
	c.t.Fatal("the log ended")
	return client.Event{}
}

// wantNoticed checks what readers receive after the store was replaced by an older copy. The log in
// the copy ended at the pos in the parameter `back`, and has since grown beyond the positions of
// all cursors. Cursors up to that pos must still be valid; readers with later cursors must get a
// reset.
func (c *conversation) wantNoticed(cursors map[int64]string, back int64) {
	c.t.Helper()
	for pos, cursor := range cursors {
		e := c.first(cursor)
		var said struct {
			Reason string `json:"reason"`
		}
		if err := json.Unmarshal(e.Data, &said); err != nil {
			c.t.Fatal(err)
		}
		if reset := e.Type == "reset" && said.Reason == "epoch"; reset != (pos > back) {
			c.t.Errorf("put back to %d, a reader after %d is told %s %s", back, pos, e.Type, e.Data)
		}
	}
}

func newest(cursors map[int64]string) (pos int64) {
	for at := range cursors {
		pos = max(pos, at)
	}
	return pos
}

// TestReplacedPostgreSQLDataIsDetected replaces the database with a base backup without
// recovery.signal, so that its timeline is unchanged. It checks that the running server ends, and that
// the next server resets each reader whose position now has another record.
func TestReplacedPostgreSQLDataIsDetected(t *testing.T) {
	original := startPostgreSQL(t, cluster.Archiving...)
	c := startConversation(t, "--store", original.URL("postgres"))
	back := newest(c.cursors(1))
	backup, err := original.BaseBackup()
	if err != nil {
		t.Fatal(err)
	}
	defer backup.Remove()
	c.say()
	cursors := c.cursors(2)
	if err := original.RestoreBackup(backup); err != nil {
		t.Fatal(err)
	}
	c.wantEnd(1, "put back as it was before")
	c.start()
	c.say()
	c.cursors(2)
	c.say()
	c.cursors(3)
	c.wantNoticed(cursors, back)
	c.stop()
}

// TestReplacedSQLiteFileIsDetected replaces the database file with an older copy, but writes the
// newest user_version into the copy. A volume snapshot can produce such a file. The test checks
// that readers whose position has another record get a reset.
func TestReplacedSQLiteFileIsDetected(t *testing.T) {
	longtest.Skip(t, "seconds")
	c := startConversation(t)
	back := newest(c.cursors(1))
	c.stop()
	file := filepath.Join(c.dir, "d", "perdure.db")
	copied, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c.start()
	c.say()
	cursors := c.cursors(2)
	c.stop()
	mark := versionOf(t, file, "PRAGMA user_version")
	if err := os.WriteFile(file, copied, 0o600); err != nil {
		t.Fatal(err)
	}
	versionOf(t, file, "PRAGMA user_version = "+mark)
	c.start()
	c.say()
	c.cursors(2)
	c.say()
	c.cursors(3)
	c.wantNoticed(cursors, back)
	c.stop()
}

// TestCursorsStayValidInACopy checks that all cursors stay valid in a store that is copied to
// PostgreSQL. A store that is restored from a backup gets a new epoch, so no cursor stays valid.
func TestCursorsStayValidInACopy(t *testing.T) {
	longtest.Skip(t, "PostgreSQL")
	c, url := startConversation(t), opentest.URL(t)
	c.cursors(1) // if a message arrives before the agent waits, the agent takes it without a wait
	c.say()
	cursors := c.cursors(2)
	launch(t, c.dir, "store", "backup", "backup.db").wantEnd(0)
	c.stop()
	launch(t, c.dir, "store", "copy", "--to", url).wantEnd(0)
	sqlite := c.args
	c.args = []string{"--store", url}
	c.start()
	c.say()
	c.cursors(3)
	c.wantNoticed(cursors, newest(cursors))
	c.stop()
	c.args = sqlite
	launch(t, c.dir, "store", "restore", "--replace", "backup.db").wantEnd(0)
	c.start()
	c.say()
	c.cursors(3)
	c.wantNoticed(cursors, 0)
	c.stop()
}

// versionOf runs a statement on the SQLite file, and returns the version number that the statement
// selects.
func versionOf(t *testing.T, file, query string) string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var version string
	if err := db.QueryRowContext(t.Context(), query).Scan(&version); err != nil && !strings.Contains(query, "=") {
		t.Fatal(err)
	}
	return version
}
