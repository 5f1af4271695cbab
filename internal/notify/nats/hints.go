// Package nats carries hints between the servers of one store, over NATS. It
// promises nothing beyond what package notify asks for: where NATS is away, or
// loses messages, hints continue inside the process, and other servers look at the
// store by themselves.
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
	// pace is the least time between two messages: what is hinted at meanwhile
	// goes into the next one, each topic once.
	pace = time.Millisecond
	// mostMarks is how many topics one message names, at eight bytes each.
	mostMarks = 8192
	// mostPending is how many topics wait to be sent, at most; what comes on top
	// is lost, as a hint may be.
	mostPending = 8 * mostMarks
	// format is the first byte of a message. What begins otherwise is of another
	// version, and passed over.
	format = 1
)

// Options say where NATS is. The zero value of every field but URL and Cluster
// works.
type Options struct {
	// URL is nats://, tls://, ws:// or wss://[user[:password]@]host[:port], or
	// several, separated by commas. A user alone is a token.
	URL string
	// Creds is a file with a JWT and its seed, as nsc makes it.
	Creds string
	// CA is a file with the certificates (PEM) that the server's is checked by.
	CA string
	// Cluster tells servers of one store from all others on the same NATS; it is
	// a part of the subject.
	Cluster string
	// Logger hears when the connection is lost and found.
	Logger *slog.Logger
}

// Subject is what hints are sent under.
func (o Options) Subject() string { return "perdure." + o.Cluster + ".hints" }

// Hints is a notify.Notifier over NATS.
type Hints struct {
	notify.Local
	logger  *slog.Logger
	subject string
	conn    *nats.Conn
	trouble atomic.Pointer[string] // why other servers get no hints; nil if they do
	// sent and lostHints count: all that were published, and those of them that are
	// known not to have left.
	sent, lostHints atomic.Int64
	closed          chan struct{} // by the connection, once its callbacks are over

	more    chan struct{} // holds one when there is something to send
	sending context.Context
	end     context.CancelFunc
	ended   chan struct{}

	mu      sync.Mutex // guards pending
	pending map[notify.Mark]struct{}
}

var _ notify.Notifier = (*Hints)(nil)

// Open connects, and comes back whether NATS is there or not: it is looked for
// until Close. Errors: invalid_argument.
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

// subscribe asks for the hints of others. It is repeated by each connection that
// follows.
func (h *Hints) subscribe() error {
	sub, err := h.conn.Subscribe(h.subject, func(m *nats.Msg) { h.receive(m.Data) })
	if err == nil {
		// What a process that is stopped cannot take is lost; a hint holds for long.
		err = sub.SetPendingLimits(1024, 8<<20)
	}
	if err != nil {
		return &perdure.Error{Code: perdure.Internal, Message: "NATS takes no subscription", Err: err}
	}
	if h.conn.IsConnected() {
		h.trouble.Store(nil)
		// So that no hint is missed from here on; that it fails is told by the
		// connection's own handlers.
		_ = h.conn.FlushTimeout(time.Second)
	}
	return nil
}

// Trouble says why hints do not reach other servers, or "". It does not block.
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

// Counts implements notify.Counted. What NATS loses on its way nobody can count.
func (h *Hints) Counts() (sent, lost int64) { return h.sent.Load(), h.lostHints.Load() }

// Close ends the connection. Hints continue inside the process.
func (h *Hints) Close() {
	h.end()
	<-h.ended
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

// away leaves a hint to be sent.
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

// send is the one that speaks to NATS, so that nobody else waits where that is
// slow. The first hint goes at once, and those of the next millisecond together.
func (h *Hints) send() {
	defer close(h.ended)
	rest := time.NewTimer(0)
	defer rest.Stop()
	for {
		select {
		case <-h.more:
		case <-h.sending.Done():
			return
		}
		for batch := range slices.Chunk(h.take(), mostMarks) {
			// Without a connection they are lost: nothing is kept for later.
			if h.conn.Publish(h.subject, encode(batch)) != nil {
				h.lostHints.Add(int64(len(batch)))
			}
		}
		rest.Reset(pace)
		select {
		case <-rest.C:
		case <-h.sending.Done():
			return
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

// receive gives the hints of another server to those who wait here.
func (h *Hints) receive(data []byte) {
	if len(data) == 0 || data[0] != format {
		return
	}
	for data = data[1:]; len(data) >= 8; data = data[8:] {
		h.Hint(notify.Mark(binary.BigEndian.Uint64(data)))
	}
}
