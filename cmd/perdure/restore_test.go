package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store/postgres/cluster"
)

// startPostgreSQL starts a PostgreSQL for the test.
func startPostgreSQL(t *testing.T, settings ...string) *cluster.Cluster {
	t.Helper()
	longtest.Skip(t, "PostgreSQL")
	c, err := cluster.Start(settings...)
	if err != nil {
		t.Fatal(err)
	}
	stopAtEnd(t, c)
	return c
}

func stopAtEnd(t *testing.T, c *cluster.Cluster) {
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
}

// firstEvent reads the log, as a reader with the cursor, up to the first event that contains the text
// `until`. It returns the first event, and all events as text.
func (d devProcess) firstEvent(t *testing.T, id uuid.UUID, cursor, until string) (first client.Event, log string) {
	t.Helper()
	for e, err := range d.Follow(t.Context(), id, cursor) {
		if err != nil {
			t.Fatal(err)
		}
		if first.Type == "" {
			first = e
		}
		log += string(e.Type) + " " + string(e.Data) + "\n"
		if strings.Contains(log, until) {
			break
		}
	}
	return first, log
}

// stop stops a server cleanly.
func (d devProcess) stop() {
	d.signal(syscall.SIGTERM)
	d.wantEnd(0)
}

// TestPostgreSQLRestoredToAPointInTime restores a PostgreSQL database to an earlier time, from a base
// backup and its WAL, and then from a dump. It checks that the store has no damage, that readers are
// reset because of the new history, and that runs continue from their state at that time.
func TestPostgreSQLRestoredToAPointInTime(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "chat", "turn\n  text First answer.\nturn\n  text Second answer.\nturn\n  text Third answer.\n")
	original := startPostgreSQL(t, cluster.Archiving...)
	one := startDev(t, dir, "--store", original.URL("postgres"))
	chat := uuid.MustParse(strings.TrimSpace(launch(t, dir, "run", "--detach", "--model", "scripted/chat", "--chat", "go").wantEnd(0)))
	say := func(d devProcess, text string) {
		t.Helper()
		if _, err := d.Signal(t.Context(), chat, client.SignalRequest{Name: perdure.UserMessage, Value: json.RawMessage(`{"text":"` + text + `"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	at := one.read(t, chat, "", "agent.waiting")
	backup, err := original.BaseBackup()
	if err != nil {
		t.Fatal(err)
	}
	say(one, "more")
	at = one.read(t, chat, at, "Second answer.")
	one.read(t, chat, at, "agent.waiting")
	if err := original.RestorePoint("then"); err != nil {
		t.Fatal(err)
	}
	say(one, "and more")
	at = one.read(t, chat, at, "Third answer.")
	lost := uuid.MustParse(strings.TrimSpace(launch(t, dir, "run", "--detach", "--model", "scripted/chat", "go").wantEnd(0)))
	one.stop()
	if err := original.Crash(); err != nil {
		t.Fatal(err)
	}
	recovered, err := backup.Recover("then")
	if err != nil {
		t.Fatal(err)
	}
	stopAtEnd(t, recovered)
	url := recovered.URL("postgres")
	launch(t, dir, "store", "check", "--store", url).wantEnd(0, "1 runs", "0 things are wrong")
	two := startDev(t, dir, "--store", url)
	at = two.wantReset(t, chat, at, "Second answer.", "Third answer.")
	if x, err := two.Get(t.Context(), lost); !perdure.IsCode(err, perdure.NotFound) {
		t.Errorf("what came after that moment is %v, %v", x, err)
	}
	say(two, "once more")
	at = two.read(t, chat, at, "Third answer.")
	two.stop()

	file, err := recovered.Dump("postgres")
	if err != nil {
		t.Fatal(err)
	}
	if err := recovered.Load(file, "loaded"); err != nil {
		t.Fatal(err)
	}
	url = recovered.URL("loaded")
	launch(t, dir, "store", "check", "--store", url).wantEnd(0, "1 runs", "0 things are wrong")
	three := startDev(t, dir, "--store", url)
	three.wantReset(t, chat, at, "Third answer.", "Fourth")
	three.stop()
}

// wantReset checks that a reader with an old cursor gets a reset and then the log from its start. The
// log must contain the text `has`, but not the text `hasNot`. The result is the cursor after the
// event that contains `has`.
func (d devProcess) wantReset(t *testing.T, id uuid.UUID, cursor, has, hasNot string) (at string) {
	t.Helper()
	first, log := d.firstEvent(t, id, cursor, has)
	if first.Type != "reset" || !strings.Contains(string(first.Data), `"epoch"`) {
		t.Errorf("a reader from before is told %s %s", first.Type, first.Data)
	}
	if !strings.Contains(log, "First answer.") || strings.Contains(log, hasNot) {
		t.Errorf("the log is\n%s", log)
	}
	return d.read(t, id, "", has)
}

// TestDatabasesThatAreRefused checks that a server refuses to start on a standby, with a wrong
// password, or if the database has no free connection. Each error must contain advice.
func TestDatabasesThatAreRefused(t *testing.T) {
	primary := startPostgreSQL(t, "max_connections=10", "superuser_reserved_connections=0", "max_wal_senders=3")
	standby, err := primary.Standby()
	if err != nil {
		t.Fatal(err)
	}
	stopAtEnd(t, standby)
	dir := t.TempDir()
	here := func(url string) []string {
		return []string{"server", "--store", url, "--data", filepath.Join(dir, "s"), "--addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0"}
	}
	launch(t, dir, here(standby.URL("postgres"))...).wantEnd(1, "standby", "name the primary")
	launch(t, dir, "migrate", "--store", standby.URL("postgres")).wantEnd(1, "standby", "name the primary")
	secured, err := primary.Secured("postgres", "right")
	if err != nil {
		t.Fatal(err)
	}
	launch(t, dir, here(strings.Replace(secured, "right", "wrong", 1))...).wantEnd(1, "user or its password", "correct the store's URL")
	for { // opens connections until none is left
		conn, err := pgx.Connect(t.Context(), primary.URL("postgres"))
		if err != nil {
			break
		}
		defer func() { _ = conn.Close(t.Context()) }()
	}
	launch(t, dir, here(primary.URL("postgres"))...).wantEnd(1, "too many connections", "max_connections")
}
