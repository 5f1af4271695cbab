package tenant

import (
	"slices"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// SignalTTL is how long the server stores a signal of a kind after the last registration with this
// signal. Workers register their kinds every hour, so the server drops a signal only if for at
// least 23 hours no worker with this signal has run.
const SignalTTL = 24 * time.Hour

// maxKnownSignalBytes is the maximum size of the signals that are stored for a kind. The signals of
// older registrations are included.
const maxKnownSignalBytes = 4 * perdure.MaxSignalSpecBytes

// knownSignals returns the signals of a registration, followed by the other signals in `before`. It
// drops signals that were last registered more than SignalTTL ago, and the oldest ones over
// maxKnownSignalBytes.
func knownSignals(registered []perdure.SignalSpec, before []store.KindSignal, now perdure.Time) (all []store.KindSignal) {
	size := 0
	for _, s := range registered {
		all = append(all, store.KindSignal{SignalSpec: s, SeenAt: now})
		size += s.Size()
	}
	for _, b := range before {
		size += b.Size()
		if now.Sub(b.SeenAt.Time) > SignalTTL || size > maxKnownSignalBytes {
			return all // before is ordered by time, the newest first
		}
		if !slices.ContainsFunc(registered, func(s perdure.SignalSpec) bool { return s.Name == b.Name && rules.EqualJSON(s.Schema, b.Schema) }) {
			all = append(all, b)
		}
	}
	return all
}
