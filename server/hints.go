package server

import (
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/notify/nats"
)

// hints notifies readers and workers of new data. The data is written by this server or, with NATS,
// by other servers of the store.
type hints struct {
	notify.Notifier
	nats *nats.Hints // nil without NATS
}

// openHints connects to the NATS server of the configuration. If the configuration has no NATS
// server, hints stay within this process. The number `epoch` identifies the store, so that hints do
// not reach servers of other stores.
func openHints(c Config, epoch uint64) (hints, error) {
	if c.NATS == "" {
		if c.NATSCreds != "" || c.NATSCA != "" {
			return hints{}, perdure.FieldErrorf("nats", "is missing; files for NATS are of no use without its URL")
		}
		return hints{Notifier: &notify.Local{Shared: c.shared()}}, nil
	}
	if !c.shared() {
		return hints{}, perdure.FieldErrorf("nats", "is for servers that share a store; give that as postgres://..., or leave NATS out")
	}
	over, err := nats.Open(nats.Options{
		URL: c.NATS, Creds: c.NATSCreds, CA: c.NATSCA, Cluster: fmt.Sprintf("%016x", epoch), Logger: c.Logger,
	})
	if err != nil {
		return hints{}, err
	}
	return hints{Notifier: over, nats: over}, nil
}

func (h hints) close() {
	if h.nats != nil {
		h.nats.Close()
	}
}
