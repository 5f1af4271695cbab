// Package nats sends hints between the servers of one store over NATS. It guarantees only what
// package notify requires. If NATS is unavailable or loses messages, hints still work inside the
// process, and other servers poll the store.
package nats

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/notify"
)

const (
	// pace is the minimum time between two messages. Hints that are published in between are sent
	// together in the next message, with each topic once.
	pace = time.Millisecond
	// mostMarks is the maximum number of topics in one message. Each topic takes eight bytes.
	mostMarks = 8192
	// mostPending is the maximum number of topics that wait to be sent. Further hints are lost.
	mostPending = 8 * mostMarks
	// format is the first byte of a message. Messages with another first byte are from another
	// version of the program, and are ignored.
	format = 1
)

// Options configures the connection to NATS. URL and Cluster are required; the zero value of every
// other field works.
type Options struct {
	// URL is the address of NATS: nats://, tls://, ws:// or wss://[user[:password]@]host[:port]. It
	// can be a list, separated by commas. A user without a password is a token.
	URL string
	// Creds is a file with a JWT and its seed, in the format of nsc.
	Creds string
	// CA is a file with the certificates (PEM) that verify the server's certificate.
	CA string
	// Cluster is a part of the NATS subject of the hints. It must be the same for the servers of
	// one store, and different for other stores that use the same NATS.
	Cluster string
	// Logger logs the loss and recovery of the connection.
	Logger *slog.Logger
}

// Subject returns the subject of hints.
func (o Options) Subject() string { return "perdure." + o.Cluster + ".hints" }

// Hints is a notify.Notifier over NATS.
type Hints struct {
	notify.Local
	logger  *slog.Logger
	subject string
	conn    *nats.Conn
	trouble atomic.Pointer[string] // the reason why hints do not reach other servers; nil if they do
	// sent counts published hints. lostHints counts the hints that certainly were not sent.
	sent, lostHints atomic.Int64
	closed          chan struct{} // closed by the connection after its last callback

	more    chan struct{} // holds one value when there is something to send
	sending context.Context
	end     context.CancelFunc
	ended   chan struct{}

	mu      sync.Mutex // guards pending
	pending map[notify.Mark]struct{}
}

var _ notify.Notifier = (*Hints)(nil)

// Open creates a Hints that connects in the background. It returns without an error even if NATS is
// unavailable, and retries until Close. Errors: invalid_argument.
func Open(o Options) (*Hints, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	h := &Hints{
		logger: cmp.Or(o.Logger, slog.Default()), subject: o.Subject(), closed: make(chan struct{}),
		more: make(chan struct{}, 1), ended: make(chan struct{}), pending: map[notify.Mark]struct{}{},
	}
	h.Shared = true
	h.sending, h.end = context.WithCancel(context.Background())
	h.troubled("it has not been reached yet")
	conn, err := nats.Connect(o.URL, h.options(o)...)
	if err != nil {
		return nil, &perdure.Error{Code: perdure.InvalidArgument, Message: "NATS cannot be used: " + err.Error(), Err: err}
	}
	h.conn = conn
	if err := h.subscribe(); err != nil {
		conn.Close()
		return nil, err
	}
	go h.send()
	return h, nil
}

// subscribe subscribes to the hints of other servers. The NATS client repeats the subscription on
// each new connection.
func (h *Hints) subscribe() error {
	sub, err := h.conn.Subscribe(h.subject, func(m *nats.Msg) { h.receive(m.Data) })
	if err == nil {
		// Messages over these limits are dropped, for example messages that arrive while this
		// process is suspended. Little is lost, because one hint stands for any number of changes
		// of its topic.
		err = sub.SetPendingLimits(1024, 8<<20)
	}
	if err != nil {
		return &perdure.Error{Code: perdure.Internal, Message: "NATS takes no subscription", Err: err}
	}
	if h.conn.IsConnected() {
		h.trouble.Store(nil)
		// FlushTimeout waits until NATS has the subscription, so that this process receives every
		// hint that is sent after subscribe has returned. The connection's handlers report an
		// error.
		_ = h.conn.FlushTimeout(time.Second)
	}
	return nil
}

// Trouble returns the reason why hints do not reach other servers; "" if they do. It does not
// block.
func (h *Hints) Trouble() string {
	if why := h.trouble.Load(); why != nil {
		return *why
	}
	return ""
}

// Check implements notify.Checked.
func (h *Hints) Check() error {
	if why := h.Trouble(); why != "" {
		return errors.New(why)
	}
	return nil
}

// Counts implements notify.Counted. Hints that NATS itself loses are not counted as lost.
func (h *Hints) Counts() (sent, lost int64) { return h.sent.Load(), h.lostHints.Load() }

// flushWithin is the time that Close waits for NATS to take the last hints.
const flushWithin = time.Second

// Close sends the pending hints, and ends the connection. Hints inside the process still work after
// that.
func (h *Hints) Close() {
	h.end()
	<-h.ended
	if h.conn.IsConnected() {
		_ = h.conn.FlushTimeout(flushWithin) // hints may be lost
	}
	h.conn.Close()
	<-h.closed
}

// Publish implements notify.Notifier.
func (h *Hints) Publish(topic string) {
	h.sent.Add(1)
	m := notify.MarkOf(topic)
	h.Hint(m)
	if !notify.Inside(topic) {
		h.away(m)
	}
}

// PublishAway implements notify.Notifier.
func (h *Hints) PublishAway(topic string) {
	h.sent.Add(1)
	h.away(notify.MarkOf(topic))
}

// away queues a hint for other servers.
func (h *Hints) away(m notify.Mark) {
	h.mu.Lock()
	if len(h.pending) < mostPending {
		h.pending[m] = struct{}{}
	} else {
		h.lostHints.Add(1)
	}
	h.mu.Unlock()
	select {
	case h.more <- struct{}{}:
	default:
	}
}

// send is the only goroutine that publishes to NATS, so that no caller waits if NATS is slow. It
// sends the first hint at once, and then the hints of each millisecond together.
func (h *Hints) send() {
	defer close(h.ended)
	defer h.sendPending() // sends hints that were published before Close
	rest := time.NewTimer(0)
	defer rest.Stop()
	for {
		select {
		case <-h.more:
		case <-h.sending.Done():
			return
		}
		h.sendPending()
		rest.Reset(pace)
		select {
		case <-rest.C:
		case <-h.sending.Done():
			return
		}
	}
}

// sendPending sends the pending hints.
func (h *Hints) sendPending() {
	for batch := range slices.Chunk(h.take(), mostMarks) {
		// Without a connection the hints are lost, because the NATS client buffers nothing.
		if h.conn.Publish(h.subject, encode(batch)) != nil {
			h.lostHints.Add(int64(len(batch)))
		}
	}
}

func (h *Hints) take() []notify.Mark {
	h.mu.Lock()
	defer h.mu.Unlock()
	marks := slices.AppendSeq(make([]notify.Mark, 0, len(h.pending)), maps.Keys(h.pending))
	clear(h.pending)
	return marks
}

func encode(marks []notify.Mark) []byte {
	data := make([]byte, 1, 1+8*len(marks))
	data[0] = format
	for _, m := range marks {
		data = binary.BigEndian.AppendUint64(data, uint64(m))
	}
	return data
}

// receive passes the hints of another server to the subscribers in this process.
func (h *Hints) receive(data []byte) {
	if len(data) == 0 || data[0] != format {
		return
	}
	for data = data[1:]; len(data) >= 8; data = data[8:] {
		h.Hint(notify.Mark(binary.BigEndian.Uint64(data)))
	}
}
