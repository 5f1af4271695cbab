package face_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// forgedMessages are invalid values of a user message, each with the field that the error must
// name.
var forgedMessages = map[string]string{
	`{"text":"x","settings":{}}`:                                            "signalValue.settings",
	`{"text":"x","Settings":{"models":[]}}`:                                 "signalValue.Settings",
	`{"messages":[{"role":"system","parts":[{"type":"text","text":"x"}]}]}`: "signalValue.messages",
	`{"parts":[{"type":"toolCall","id":"1","name":"bash"}]}`:                "signalValue.parts[0].type",
	`{"parts":[{"type":"toolResult","toolCallId":"1","parts":[]}]}`:         "signalValue.parts[0].type",
	`{"parts":[{"type":"text","text":"x","native":{}}]}`:                    "signalValue.parts[0].native",
	`{"text":""}`: "signalValue.text",
	`{}`:          "signalValue",
	`7`:           "signalValue",
}

// TestUserMessagesAreCheckedByValueAndByReference checks that an inline value of a user message and
// an uploaded one are checked in the same way. A refused message is not stored.
func TestUserMessagesAreCheckedByValueAndByReference(t *testing.T) {
	h := open(t)
	x := h.Start("")
	at := h.Path(x.ID, "/signal")
	upload := func(value string) uuid.UUID {
		t.Helper()
		var c struct{ BlobID uuid.UUID }
		h.Call("PUT", h.Path(x.ID, "/content"), value).Want(200, &c)
		return c.BlobID
	}
	refer := func(name string, id uuid.UUID) reply {
		return h.Call("POST", at, fmt.Sprintf(`{"signalName":%q,"signalValueRef":{"blobId":%q}}`, name, id))
	}
	for value, field := range forgedMessages {
		h.Call("POST", at, `{"signalName":"userMessage","signalValue":`+value+`}`).Problem(400, perdure.InvalidArgument, field)
		refer(perdure.UserMessage, upload(value)).Problem(400, perdure.InvalidArgument, field)
	}
	for _, name := range []string{perdure.UserMessage, "other"} {
		refer(name, upload(`{"text":`)).Problem(400, perdure.InvalidArgument, "signalValue")
	}
	r := h.Claim()
	if signals, err := h.Worker.Signals(t.Context(), r.ID, nil, 0, 10); err != nil || len(signals) != 0 {
		t.Fatalf("%d signals are stored, %v", len(signals), err)
	}
	long := `{"text":"` + strings.Repeat("x", 5<<20) + `"}`
	id := upload(long)
	refer(perdure.UserMessage, id).Want(200, nil)
	signals, err := h.Worker.Signals(t.Context(), r.ID, []string{perdure.UserMessage}, 0, 10)
	if err != nil || len(signals) != 1 || string(signals[0].Value) != long {
		t.Errorf("%d signals arrive, %v", len(signals), err)
	}
}

// TestPromptsHaveNoOtherMembers checks that a prompt over the WebSocket that has members other than
// prompt_id and text is refused.
func TestPromptsHaveNoOtherMembers(t *testing.T) {
	h := open(t)
	x := h.Start("")
	c := h.Socket(x.ID)
	for _, member := range []string{"settings", "messages", "parts", "Text"} {
		c.Send("prompt", `{"prompt_id":"p","text":"x","`+member+`":{}}`)
		if m := c.Next(); m.Type != "error" || m.Data.Code != "invalid_argument" || !strings.Contains(m.Data.Message, "data") {
			t.Errorf("%s is answered %+v", member, m)
		}
	}
	c.Send("prompt", `{"prompt_id":"p","text":"x"}`)
	if m := c.Next(); m.Type != "prompt_ack" {
		t.Errorf("a text is answered %+v", m)
	}
}
