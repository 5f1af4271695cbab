package grpcapi_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// TestTextsThatAreNoUTF8 checks that a commit with a string that is not UTF-8 gets
// invalid_argument. A frame of streamed text is accepted although its fields Place and Stream
// contain such strings.
func TestTextsThatAreNoUTF8(t *testing.T) {
	w := start(t)
	c := w.dial(t, "worker")
	_, err := c.Commit(t.Context(), perdure.Commit{Lease: perdure.Lease{ExecutionID: uuid.New()}, Take: []string{"b\xffd"}})
	if !perdure.IsCode(err, perdure.InvalidArgument) {
		t.Errorf("a commit gives %v", err)
	}
	w.fake.answer = func(string, any) (any, error) { return []perdure.FrameReply{{Held: 1}}, nil }
	replies, err := c.Append(t.Context(), []perdure.Frame{{
		AgentLease: &perdure.Lease{ExecutionID: uuid.New()}, Type: perdure.EventToken, Text: "x", Stream: "b\xffd", Place: perdure.Place{TurnID: "b\xffd"},
	}})
	if err != nil || len(replies) != 1 || replies[0].Held != 1 {
		t.Errorf("a frame is answered %+v, %v", replies, err)
	}
}
