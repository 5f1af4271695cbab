package nats

import (
	"errors"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/perdure/perdure"
)

const (
	// dialWithin is the time limit of a connection attempt to one address of NATS. The start of
	// Perdure's server waits no longer than that.
	dialWithin = 2 * time.Second
	// pingEvery and pings determine how soon the client notices a broken connection that reports no
	// error.
	pingEvery = 5 * time.Second
	pings     = 2
	mostPause = 5 * time.Second
)

// check returns an error for options that cannot work, before NATS is contacted. Errors do not
// contain the URL, because it may contain a password.
func (o Options) check() error {
	if o.Cluster == "" || strings.ContainsAny(o.Cluster, " .*>\t\r\n") {
		return perdure.FieldErrorf("cluster", "%q is no part of a subject", o.Cluster)
	}
	for address := range strings.SplitSeq(o.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(address))
		if err != nil || u.Hostname() == "" {
			return perdure.FieldErrorf("nats", "is no URL of NATS; give it as nats://host:4222, several separated by commas")
		}
		switch u.Scheme {
		case "nats", "tls", "ws", "wss":
		default:
			return perdure.FieldErrorf("nats", "a URL of NATS begins with nats://, tls://, ws:// or wss://, not %s://", u.Scheme)
		}
	}
	for field, file := range map[string]string{"nats-creds": o.Creds, "nats-ca": o.CA} {
		if file == "" {
			continue
		}
		if _, err := os.ReadFile(file); err != nil {
			return &perdure.Error{
				Code: perdure.InvalidArgument, Err: err, Message: "the file cannot be read: " + err.Error(),
				Fields: []perdure.FieldError{{Location: field, Message: "cannot be read"}},
			}
		}
	}
	return nil
}

func (h *Hints) options(o Options) []nats.Option {
	all := []nats.Option{
		nats.Name("perdure"), nats.NoEcho(),
		nats.Timeout(dialWithin), nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(pings),
		nats.FlusherTimeout(dialWithin), nats.ReconnectOnFlusherError(),
		// Reconnect without a limit, even if NATS was unavailable at the start or refused the
		// credentials.
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.IgnoreAuthErrorAbort(),
		nats.CustomReconnectDelay(pauseAfter), nats.ReconnectBufSize(-1),
		nats.ConnectHandler(h.found), nats.ReconnectHandler(h.found),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { h.lost(err) }),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { h.lost(err) }),
		nats.ErrorHandler(h.failed),
		nats.ClosedHandler(func(*nats.Conn) { close(h.closed) }),
	}
	if o.Creds != "" {
		all = append(all, nats.UserCredentials(o.Creds))
	}
	if o.CA != "" {
		all = append(all, nats.RootCAs(o.CA))
	}
	return all
}

// pauseAfter returns the pause, with jitter, after the given number of failed attempts to connect.
// Each attempt tries all addresses.
func pauseAfter(rounds int) time.Duration {
	pause := min(100*time.Millisecond<<min(rounds, 10), mostPause)
	return pause/2 + rand.N(pause)/2
}

const (
	troubleText = "hints do not reach other servers; what one commits, others find within a second"
	foundText   = "hints reach other servers"
)

func (h *Hints) troubled(why string) { h.trouble.Store(&why) }

func (h *Hints) found(conn *nats.Conn) {
	h.trouble.Store(nil)
	h.logger.Info(foundText, "nats", conn.ConnectedUrlRedacted())
}

// lost handles the end of a connection or a failed attempt to connect. It logs the error if the
// error differs from the last one.
func (h *Hints) lost(err error) {
	if err == nil {
		err = errors.New("the connection was closed")
	}
	why := "NATS: " + strings.TrimPrefix(err.Error(), "nats: ")
	if h.Trouble() != why {
		h.logger.Warn(troubleText, "error", why)
	}
	h.troubled(why)
}

// failed handles errors that the NATS client reports while it is connected.
func (h *Hints) failed(_ *nats.Conn, _ *nats.Subscription, err error) {
	if errors.Is(err, nats.ErrSlowConsumer) {
		h.logger.Warn("hints of other servers came faster than this one took them; some are lost")
		return
	}
	h.lost(err)
}
