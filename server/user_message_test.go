package server_test

import (
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/api/perdure/v1"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
)

// TestUserMessagesOverGRPCAreChecked checks that an invalid userMessage over gRPC is refused, inline
// and as a blob, and is not stored. A valid one is stored.
func TestUserMessagesOverGRPCAreChecked(t *testing.T) {
	s, w := serve(t, 0)
	claim := w.start(starting(s))
	id := claim.Lease.ExecutionID
	send := func(r *perdurev1.SignalAgentRequest) error {
		r.ExecutionId, r.SignalName = id[:], perdure.UserMessage
		_, err := w.raw.SignalAgent(w.ctx, r)
		return err
	}
	byBlob := func(value string) error {
		ref := w.put(perdure.BlobOwner{ExecutionID: id}, []byte(value))
		return send(&perdurev1.SignalAgentRequest{SignalValueBlob: ref.ID[:]})
	}
	for _, value := range []string{
		`{"text":"x","settings":{}}`, `{"messages":[{"role":"robot","parts":[]}]}`, `{"parts":[{"type":"toolCall","id":"1","name":"bash"}]}`, `{}`, `{"text":`,
	} {
		for how, err := range map[string]error{"in place": send(&perdurev1.SignalAgentRequest{SignalValue: []byte(value)}), "as a blob": byBlob(value)} {
			if grpcstatus.Code(err) != codes.InvalidArgument {
				t.Errorf("%s %s is answered %v", value, how, err)
			}
		}
	}
	if signals, err := w.d.Signals(t.Context(), id, nil, 0, 10); err != nil || len(signals) != 0 {
		t.Fatalf("%d signals are stored, %v", len(signals), err)
	}
	w.must(byBlob(`{"parts":[{"type":"text","text":"x"}]}`))
	if signals, err := w.d.Signals(t.Context(), id, nil, 0, 10); err != nil || len(signals) != 1 {
		t.Errorf("%d signals are stored, %v", len(signals), err)
	}
}
