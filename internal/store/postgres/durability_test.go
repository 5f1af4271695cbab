package postgres

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/e2e/chaos"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/postgres/cluster"
)

// startCluster starts a PostgreSQL server for this test.
func startCluster(t *testing.T, settings ...string) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Start(settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// TestSynchronousCommitTurnedOffLosesNothing checks that every confirmed write survives a crash if
// synchronous_commit is turned off while a server is running. The database writes its WAL in the
// background only every 10 s, so the crash would lose a COMMIT that did not wait for the disk.
func TestSynchronousCommitTurnedOffLosesNothing(t *testing.T) {
	c := startCluster(t, "wal_writer_delay=10000ms")
	s := open(t, Options{without: optimizations{texts: true}, URL: c.URL("postgres"), Logger: quiet, Committers: 1})
	id := begin(t, s)
	if err := note(t.Context(), s, id, uuid.New()); err != nil {
		t.Fatal(err)
	}
	if err := c.Set("synchronous_commit", "off"); err != nil {
		t.Fatal(err)
	}
	const answered = 50
	for range answered {
		if err := note(t.Context(), s, id, uuid.New()); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Crash(); err != nil {
		t.Fatal(err)
	}
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	s.pool.Reset()
	noted(t, s, id, 1+answered)
}

// TestTheCommitIsNeverWeakened checks that the statement `durably` turns synchronous_commit on if
// it is off, and changes no other value.
func TestTheCommitIsNeverWeakened(t *testing.T) {
	s := open(t, Options{without: optimizations{texts: true}})
	conn, err := pgx.ConnectConfig(t.Context(), s.db.config.Copy())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for set, want := range map[string]string{"off": "on", "on": "on", "remote_apply": "remote_apply", "remote_write": "remote_write", "local": "local"} {
		if _, err := conn.Exec(t.Context(), "SET synchronous_commit = "+set); err != nil {
			t.Fatal(err)
		}
		tx, err := conn.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got string
		if _, err := tx.Exec(t.Context(), durably); err != nil {
			t.Fatal(err)
		}
		if err := tx.QueryRow(t.Context(), "SHOW synchronous_commit").Scan(&got); err != nil || got != want {
			t.Errorf("where it is %s, a batch commits with %s, %v", set, got, err)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSettingsThatAreOffAreRefused checks that a database with one of Settings off is refused
// before anything is written, unless that setting is allowed by name.
func TestSettingsThatAreOffAreRefused(t *testing.T) {
	for _, off := range Settings {
		t.Run(off, func(t *testing.T) {
			c := startCluster(t)
			if err := c.Set(off, "off"); err != nil {
				t.Fatal(err)
			}
			_, err := Open(t.Context(), Options{without: optimizations{texts: true}, URL: c.URL("postgres"), Logger: quiet})
			if !perdure.IsCode(err, perdure.InvalidArgument) || !strings.Contains(err.Error(), "--store-allow-off "+off) {
				t.Errorf("it opens with %v", err)
			}
			if err := c.Until("SELECT to_regclass('store') IS NULL"); err != nil {
				t.Errorf("the refused start made tables: %v", err)
			}
			others := slices.DeleteFunc(slices.Clone(Settings), func(name string) bool { return name == off })
			if _, err := Open(t.Context(), Options{without: optimizations{texts: true}, URL: c.URL("postgres"), Logger: quiet, AllowOff: others}); !perdure.IsCode(err, perdure.InvalidArgument) {
				t.Errorf("with the others allowed it opens with %v", err)
			}
			s := open(t, Options{without: optimizations{texts: true}, URL: c.URL("postgres"), Logger: quiet, AllowOff: []string{off}})
			if got := s.Degraded(t.Context()); len(got) != 1 || got[0].Check != store.CheckDurability || !strings.Contains(got[0].Detail, off) {
				t.Errorf("it is degraded by %q", got)
			}
		})
	}
	if _, err := Open(t.Context(), Options{without: optimizations{texts: true}, URL: emptyDatabase(t), AllowOff: []string{"autovacuum"}}); !perdure.IsCode(err, perdure.InvalidArgument) || !strings.Contains(err.Error(), "full_page_writes") {
		t.Errorf("another name gives %v", err)
	}
}

// TestTheURLTurnsSynchronousCommitOff checks that Open refuses a URL that turns synchronous_commit
// off for the server's sessions.
func TestTheURLTurnsSynchronousCommitOff(t *testing.T) {
	database := emptyDatabase(t) + "&synchronous_commit=off"
	if _, err := Open(t.Context(), Options{without: optimizations{texts: true}, URL: database, Logger: quiet}); !perdure.IsCode(err, perdure.InvalidArgument) {
		t.Errorf("it opens with %v", err)
	}
}

// TestSettingsAreWatched checks that watchSettings reports, at the next tick, that fsync was turned
// off and on again.
func TestSettingsAreWatched(t *testing.T) {
	c := startCluster(t)
	told := make(chan string, 100)
	var log bytes.Buffer
	s := open(t, Options{
		without: optimizations{texts: true},
		URL:     c.URL("postgres"), Logger: slog.New(slog.NewTextHandler(&log, nil)), Committers: 1, Readers: 1,
		Observer: &store.Observer{Setting: func(name string, off bool) { told <- fmt.Sprint(name, " ", off) }},
	})
	begin(t, s)
	if _, err := s.AnyKey(t.Context()); err != nil { // this read opens a connection of the pool
		t.Fatal(err)
	}
	ticks, stop, ended := make(chan time.Time), make(chan struct{}), make(chan struct{})
	go func() { defer close(ended); s.watchSettings(ticks, stop) }()
	defer func() { close(stop); <-ended }()
	for _, value := range []string{"off", "on"} {
		if err := c.Set("fsync", value); err != nil {
			t.Fatal(err)
		}
		for len(told) > 0 {
			<-told
		}
		ticks <- time.Now()
		ticks <- time.Now() // when this tick is taken, the first read of the settings has ended
		want := fmt.Sprint("fsync ", value == "off")
		if got := <-told; got != want {
			t.Errorf("the observer is told %q, want %q", got, want)
		}
		if got := s.Degraded(t.Context()); (len(got) == 1) != (value == "off") {
			t.Errorf("with fsync %s the store is degraded by %q", value, got)
		}
	}
	if n := strings.Count(log.String(), "setting=fsync"); n != 2 {
		t.Errorf("the log has %d lines about it:\n%s", n, log.String())
	}
}

// stoppableStandby returns a primary that has a synchronous standby. The function `leave` stops the
// standby, and the function `back` starts the standby again.
func stoppableStandby(t *testing.T) (primary *cluster.Cluster, leave, back func()) {
	t.Helper()
	primary, standby := pair(t)
	if err := primary.Synchronous(); err != nil {
		t.Fatal(err)
	}
	leave = func() {
		if err := standby.Crash(); err != nil {
			t.Fatal(err)
		}
	}
	back = func() {
		if err := standby.Run(); err != nil {
			t.Fatal(err)
		}
	}
	return primary, leave, back
}

// named returns a database URL whose connections have the given application name.
func named(database, name string) string { return database + "&application_name=" + name }

const waitsForStandby = "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE application_name = '%s' AND wait_event = 'SyncRep')"

// noting calls the function `note` in a goroutine, and repeats the call until the store is
// available. The returned channel receives the error of the last call.
func noting(t *testing.T, s *Store, execution, id uuid.UUID) (answered chan error) {
	answered = make(chan error, 1)
	go func() {
		for {
			err := note(t.Context(), s, execution, id)
			if !perdure.IsCode(err, perdure.Unavailable) {
				answered <- err
				return
			}
		}
	}()
	return answered
}

// unanswered fails the test if the repeated call that the function `noting` started has already
// returned. The parameter `answered` is the channel that `noting` returned.
func unanswered(t *testing.T, answered chan error, why string) {
	t.Helper()
	select {
	case err := <-answered:
		t.Fatalf("it is answered (%v) %s", err, why)
	default:
	}
}

// TestACommitWithAWarningIsNotAnswered checks a COMMIT whose wait for the standby is cancelled, so
// that PostgreSQL answers the COMMIT with a warning. The caller must get an answer only when the
// standby has the transaction. The same must hold for a command on another server that finds the
// entry of this transaction already stored.
func TestACommitWithAWarningIsNotAnswered(t *testing.T) {
	primary, leave, back := stoppableStandby(t)
	one := open(t, Options{without: optimizations{texts: true}, URL: named(primary.URL("postgres"), "one"), Logger: quiet, Committers: 1})
	two := open(t, Options{without: optimizations{texts: true}, URL: named(primary.URL("postgres"), "two"), Logger: quiet, Committers: 1})
	x, id := begin(t, one), uuid.New()
	if err := note(t.Context(), two, x, uuid.New()); err != nil { // this call opens the server's connection
		t.Fatal(err)
	}
	leave()
	first := noting(t, one, x, id)
	await(t, primary, fmt.Sprintf(waitsForStandby, "one"))
	var pid int
	ask(t, primary, "SELECT pid FROM pg_stat_activity WHERE application_name = 'one' AND wait_event = 'SyncRep'", &pid)
	execute(t, primary.URL("postgres"), "SELECT pg_cancel_backend($1)", pid)
	await(t, primary, fmt.Sprintf("SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE application_name = 'one' AND pid <> %d AND wait_event = 'SyncRep')", pid))
	unanswered(t, first, "before the standby has it")
	second := noting(t, two, x, id)
	await(t, primary, fmt.Sprintf(waitsForStandby, "two"))
	unanswered(t, second, "where it is found stored, before the standby has it")
	back()
	for _, answered := range []chan error{first, second} {
		if err := <-answered; err != nil {
			t.Error(err)
		}
	}
	noted(t, one, x, 2)
}

// TestWaitsForAStandbyAreNotEnded checks what happens when a connection breaks while its COMMIT
// waits for the standby. The database process must be neither terminated nor cancelled, because
// then other transactions could see data that the standby does not have. In the end, the entry of
// the transaction must be stored once.
func TestWaitsForAStandbyAreNotEnded(t *testing.T) {
	primary, leave, back := stoppableStandby(t)
	u, err := url.Parse(primary.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := chaos.Listen("127.0.0.1:0", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close() })
	u.Host = proxy.Addr()
	s := open(t, Options{without: optimizations{texts: true}, URL: named(u.String(), "one"), Logger: quiet, Committers: 1})
	x, id := begin(t, s), uuid.New()
	leave()
	answered := noting(t, s, x, id)
	await(t, primary, fmt.Sprintf(waitsForStandby, "one"))
	var pid, there int
	ask(t, primary, "SELECT pid FROM pg_stat_activity WHERE application_name = 'one' AND wait_event = 'SyncRep'", &pid)
	proxy.Cut()
	await(t, primary, fmt.Sprintf("SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE application_name = 'one' AND pid <> %d AND wait_event_type = 'Lock')", pid))
	ask(t, primary, fmt.Sprintf("SELECT count(*) FROM pg_stat_activity WHERE pid = %d AND wait_event = 'SyncRep'", pid), &there)
	if there != 1 {
		t.Error("the process that waited for the standby was ended")
	}
	ask(t, primary, "SELECT count(*) FROM agent_entry WHERE id = '"+id.String()+"'", &there)
	if there != 0 {
		t.Error("others see what the standby does not have")
	}
	unanswered(t, answered, "before the standby has it")
	back()
	if err := <-answered; err != nil {
		t.Error(err)
	}
	noted(t, s, x, 1)
}

func await(t *testing.T, c *cluster.Cluster, question string) {
	t.Helper()
	if err := c.Until(question); err != nil {
		t.Fatal(err)
	}
}

func ask(t *testing.T, c *cluster.Cluster, query string, dest any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), query).Scan(dest); err != nil {
		t.Fatal(err)
	}
}
