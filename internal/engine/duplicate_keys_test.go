package engine

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// TestDoubledKeysOfWorkersAreRefused checks that a repeated key of a JSON object is refused in the
// value of a signal and in the input schema of a kind. The error names the key.
func TestDoubledKeysOfWorkersAreRefused(t *testing.T) {
	b := newBench(t)
	h := b.started()
	_, err := b.e.Signal(t.Context(), org, h.id, SignalRequest{Name: "n", Value: json.RawMessage(`{"a":1,"a":2}`)})
	b.wantCode(err, perdure.InvalidArgument)
	wantField(t, err, "signalValue.a")
	_, err = b.d.Register(t.Context(), perdure.Registration{WorkerID: uuid.New(), Agents: []perdure.KindSpec{
		{Kind: "k", InputSchema: json.RawMessage(`{"type":"object","type":"string"}`)},
	}})
	b.wantCode(err, perdure.InvalidArgument)
	wantField(t, err, "agents[0].inputSchema.type")
}
