package tenant

import (
	"encoding/json"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// maxKnownOutputs is the maximum number of output schemas that are stored for a kind. The schemas
// of older registrations are included.
const maxKnownOutputs = 20

// outputsBefore returns the output schemas that a kind had before a registration. If its workers
// have registered no schema, the result is one schema that accepts every output.
func outputsBefore(k store.Kind) []store.KindOutput {
	if len(k.Outputs) == 0 {
		return []store.KindOutput{{SeenAt: k.SeenAt}}
	}
	return k.Outputs
}

// knownOutputs returns the registered output schema, followed by the other schemas in `before`. It
// drops schemas that were last registered more than SignalTTL ago, and the oldest ones over
// maxKnownOutputs. If no schema remains, the result is empty.
func knownOutputs(registered json.RawMessage, before []store.KindOutput, now perdure.Time) []store.KindOutput {
	all := []store.KindOutput{{Schema: registered, SeenAt: now}}
	some := len(registered) > 0
	for _, b := range before {
		if now.Sub(b.SeenAt.Time) > SignalTTL || len(all) == maxKnownOutputs {
			break // before is ordered by time, the newest first
		}
		if !rules.EqualJSON(b.Schema, registered) {
			all = append(all, b)
			some = some || len(b.Schema) > 0
		}
	}
	if !some {
		return nil
	}
	return all
}
