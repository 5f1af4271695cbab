package nats

import (
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/notify/notifytest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// join connects a new Hints to NATS. Each Hints stands for one process.
func join(t testing.TB, url, cluster string) *Hints {
	t.Helper()
	h, err := Open(Options{URL: url, Cluster: cluster, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

func opener(url func() string) notifytest.Open {
	return func(t testing.TB) notify.Notifier { return join(t, url(), "one") }
}

func TestHints(t *testing.T) {
	server := notifytest.NewNATS(t)
	notifytest.Inside(t, opener(server.URL))
	notifytest.Between(t, opener(server.URL))
}

// TestHintsThatComeTwice checks the requirements of package notify on hints between processes,
// while every message arrives twice.
func TestHintsThatComeTwice(t *testing.T) {
	server := notifytest.NewNATS(t)
	repeated := repeat(t, server)
	notifytest.Between(t, opener(server.URL))
	if repeated.Load() == 0 {
		t.Error("no message was repeated")
	}
}

// repeat publishes every received message once more, and counts the received messages.
func repeat(t *testing.T, server *notifytest.NATS) *atomic.Int64 {
	t.Helper()
	echo, err := nats.Connect(server.URL(), nats.NoEcho())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(echo.Close)
	var n atomic.Int64
	_, err = echo.Subscribe(Options{Cluster: "one"}.Subject(), func(m *nats.Msg) {
		n.Add(1)
		if err := echo.Publish(m.Subject, m.Data); err != nil {
			t.Error(err)
		}
	})
	if err != nil || echo.Flush() != nil {
		t.Fatal("the repeater cannot listen", err)
	}
	return &n
}

// TestHintsThatAreLost checks that hints work inside the process while NATS refuses all messages,
// and that Trouble names the reason.
func TestHintsThatAreLost(t *testing.T) {
	server := notifytest.NewNATS(t)
	notifytest.Inside(t, opener(server.MuteURL))
	a := join(t, server.MuteURL(), "one")
	notifytest.Apart(t, a, join(t, server.URL(), "one"))
	until(t, "the refusal is known", func() bool { return strings.Contains(a.Trouble(), "Permissions Violation") })
}

// TestHintsWithoutNATS checks that hints work inside the process while NATS is unavailable, and
// that Trouble is not empty.
func TestHintsWithoutNATS(t *testing.T) {
	server := notifytest.NewNATS(t)
	server.Stop()
	notifytest.Inside(t, opener(server.URL))
	a := join(t, server.URL(), "one")
	notifytest.Apart(t, a, join(t, server.URL(), "one"))
	if a.Trouble() == "" {
		t.Error("hints do not go out, and nobody is told")
	}
}

// TestDeploymentsAreApart checks that two deployments that use one NATS do not receive each other's
// hints.
func TestDeploymentsAreApart(t *testing.T) {
	server := notifytest.NewNATS(t)
	a, b := join(t, server.URL(), "one"), join(t, server.URL(), "two")
	notifytest.Apart(t, a, b)
	// When this later message has arrived in the cluster "two", the earlier hint of the cluster
	// "one" can no longer arrive there.
	other := join(t, server.URL(), "two")
	topic := notify.Log(uuid.New())
	there, end := b.Subscribe(topic, notify.Freed("acme"))
	defer end()
	a.Publish(topic)
	other.Publish(notify.Freed("acme"))
	<-there
	select {
	case <-there:
		t.Error("a hint of another deployment came")
	default:
	}
}

// TestHintsOutliveNATS checks two processes while NATS stops and starts several times. After each
// start, hints reach the other process again, without a restart of the processes.
func TestHintsOutliveNATS(t *testing.T) {
	server := notifytest.NewNATS(t)
	server.Stop()
	a, b := join(t, server.URL(), "one"), join(t, server.URL(), "one")
	for range 2 {
		topic := notify.Log(uuid.New())
		hints, end := b.Subscribe(topic)
		defer end()
		server.Start()
		until(t, "the hint comes", func() bool {
			a.Publish(topic)
			return received(hints)
		})
		until(t, "no trouble is told of", func() bool { return a.Trouble()+b.Trouble() == "" })
		server.Stop()
		until(t, "the loss is known", func() bool { return a.Trouble() != "" && b.Trouble() != "" })
		notifytest.Apart(t, a, b)
	}
}

// TestHintsDoNotComeBack checks that a process does not receive its own messages.
func TestHintsDoNotComeBack(t *testing.T) {
	server := notifytest.NewNATS(t)
	a, b := join(t, server.URL(), "one"), join(t, server.URL(), "one")
	topic, fence := notify.Log(uuid.New()), notify.Log(uuid.New())
	back, endBack := a.Subscribe(topic)
	defer endBack()
	there, endThere := b.Subscribe(topic)
	defer endThere()
	after, endAfter := a.Subscribe(fence)
	defer endAfter()
	a.PublishAway(topic)
	<-there
	b.PublishAway(fence)
	<-after // its own message would have arrived before this one
	if received(back) {
		t.Error("a hint for others came back")
	}
}

// TestHintsAreRefused checks that Trouble reports a wrong password, and that the report does not
// contain the password.
func TestHintsAreRefused(t *testing.T) {
	server := notifytest.NewNATS(t)
	h := join(t, server.RefusedURL(), "one")
	until(t, "the refusal is known", func() bool { return strings.Contains(strings.ToLower(h.Trouble()), "authorization") })
	if strings.Contains(h.Trouble(), "another") {
		t.Errorf("the trouble tells the password: %s", h.Trouble())
	}
}

// TestHintsTravelTogether checks that a busy process sends at most about one message per
// millisecond, with each topic once, and that messages do not contain the names of topics.
func TestHintsTravelTogether(t *testing.T) {
	server := notifytest.NewNATS(t)
	listener, err := nats.Connect(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	messages := make(chan *nats.Msg, 100_000)
	if _, err := listener.ChanSubscribe(Options{Cluster: "one"}.Subject(), messages); err != nil || listener.Flush() != nil {
		t.Fatal("cannot listen", err)
	}
	a := join(t, server.URL(), "one")
	const hints = 20_000
	logs := make([]string, 100)
	for i := range logs {
		logs[i] = notify.Log(uuid.New())
	}
	began := time.Now()
	for i := range hints {
		a.Publish(logs[i%len(logs)])
		a.Publish(notify.Agents("secret-org", "secret-queue"))
	}
	most := int(time.Since(began)/pace) + 2
	a.Close()
	if err := listener.Flush(); err != nil {
		t.Fatal(err)
	}
	if n := len(messages); n == 0 || n > most {
		t.Errorf("%d hints came in %d messages, of at most %d", hints, n, most)
	}
	for range len(messages) {
		m := <-messages
		if len(m.Data) > 1+8*(len(logs)+1) {
			t.Errorf("a message names a topic twice: %d bytes", len(m.Data))
		}
		if strings.Contains(string(m.Data)+m.Subject, "secret") {
			t.Error("a message tells its topic")
		}
	}
}

// TestHintsThatWaitAreBounded checks that at most mostPending topics wait to be sent to NATS.
func TestHintsThatWaitAreBounded(t *testing.T) {
	h := &Hints{pending: map[notify.Mark]struct{}{}, more: make(chan struct{}, 1)}
	for i := range 2 * mostPending {
		h.away(notify.Mark(i))
	}
	if len(h.pending) != mostPending {
		t.Errorf("%d topics wait, want %d", len(h.pending), mostPending)
	}
	if got := len(h.take()); got != mostPending || len(h.pending) != 0 {
		t.Errorf("%d are taken, %d stay", got, len(h.pending))
	}
}

// TestStrangeMessages checks that messages in an unknown format are ignored.
func TestStrangeMessages(t *testing.T) {
	server := notifytest.NewNATS(t)
	a, b := join(t, server.URL(), "one"), join(t, server.URL(), "one")
	topic := notify.Log(uuid.New())
	hints, end := b.Subscribe(topic)
	defer end()
	good := encode([]notify.Mark{notify.MarkOf(topic)})
	newer := append([]byte{format + 1}, good[1:]...)
	for _, data := range [][]byte{nil, {format}, {format, 1, 2}, newer, []byte("hello")} {
		b.receive(data)
	}
	if received(hints) {
		t.Error("something strange was a hint")
	}
	b.receive(append(good, 1, 2, 3))
	if !received(hints) {
		t.Error("what begins as a hint is none")
	}
	a.Publish(topic)
	<-hints
}

func TestOptionsThatCannotWork(t *testing.T) {
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"no URL":            {Options{Cluster: "one"}, "nats://"},
		"another scheme":    {Options{URL: "http://user:topsecret@host", Cluster: "one"}, "not http://"},
		"no host":           {Options{URL: "nats://user:topsecret@:4222", Cluster: "one"}, "nats://host:4222"},
		"the second is bad": {Options{URL: "nats://host,topsecret", Cluster: "one"}, "nats://host:4222"},
		"no cluster":        {Options{URL: "nats://host"}, "subject"},
		"a wide cluster":    {Options{URL: "nats://host", Cluster: ">"}, "subject"},
		"no creds":          {Options{URL: "nats://host", Cluster: "one", Creds: "nowhere"}, "nowhere"},
		"no CA":             {Options{URL: "nats://host", Cluster: "one", CA: "nowhere"}, "nowhere"},
	} {
		h, err := Open(c.o)
		if err == nil {
			h.Close()
		}
		if !perdure.IsCode(err, perdure.InvalidArgument) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "topsecret") {
			t.Errorf("%s gives %v", name, err)
		}
	}
	junk := t.TempDir() + "/creds"
	if err := os.WriteFile(junk, []byte("no creds"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{URL: "nats://127.0.0.1:1", Cluster: "one", CA: junk}); !perdure.IsCode(err, perdure.InvalidArgument) {
		t.Errorf("a file without certificates gives %v", err)
	}
}

func received(hints <-chan struct{}) bool {
	select {
	case <-hints:
		return true
	default:
		return false
	}
}

// until calls the function `done` repeatedly until it returns true. It fails the test after 30
// seconds.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	give := time.After(30 * time.Second)
	for !done() {
		select {
		case <-tick.C:
		case <-give:
			t.Fatal("in vain waited until ", what)
		}
	}
}
