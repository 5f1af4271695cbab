package openai

import (
	"encoding/json"
	"errors"
	"testing"
)

// FuzzSocketFrames parses arbitrary frames. Each frame is a complete create request, or is refused
// with a code and a message.
func FuzzSocketFrames(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `[]`, `null`, `{"type":"response.create"}`, `{"type":"response.create","model":"m","input":"hi"}`,
		`{"type":"response.create","model":"m","generate":false}`, `{"type":"response.create","model":"m","input":"hi","previous_response_id":"resp_1"}`,
		`{"type":"response.create","model":"m","input":[{"type":"item_reference","id":"msg_1"}],"stream":true}`,
		`{"type":"response.create","model":"m","input":"hi","stream_id":1,"background":true,"generate":0}`,
		`{"type":"response.create","type":"x"}`, `{"type":"response.create","response":{}}`, "{\"type\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		k := &socket{chain: chain{id: "resp_1", warm: true, items: []readItem{{at: "input"}}}}
		c, err := k.parse(frame{raw: raw})
		var refused *Error
		switch {
		case err == nil:
			if c.Model == "" || len(c.items) == 0 && !c.warmUp || c.Background || (c.previous == "resp_1") != (c.from != nil) {
				t.Errorf("%s is taken as %+v", raw, c.request)
			}
		case !errors.As(err, &refused) || refused.Code == nil || *refused.Code == "" || refused.Message == "" || refused.Status < 400:
			t.Errorf("%s is refused with %v", raw, err)
		default:
			if _, err := json.Marshal(refused); err != nil {
				t.Error(err)
			}
		}
	})
}
