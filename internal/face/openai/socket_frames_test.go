package openai_test

import (
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/perdure/perdure/internal/face/openai"
	"github.com/perdure/perdure/internal/longtest"
)

// TestSocketBadFrames checks that each invalid frame gets an error with status 400, and the
// connection stays usable.
func TestSocketBadFrames(t *testing.T) {
	s := newStage(t, says("Hello"))
	k := s.dial()
	const create = `{"type":"response.create","model":"test/m","input":"hi"`
	for frame, want := range map[string]struct{ param, code string }{
		``:                                      {"", "invalid_json"},
		`no JSON`:                               {"", "invalid_json"},
		`[]`:                                    {"", "invalid_json"},
		`null`:                                  {"", "invalid_json"},
		create + ",\"user\":\"\xff\"}":          {"-", "-"},
		`{}`:                                    {"type", "invalid_value"},
		`{"type":7}`:                            {"type", "invalid_value"},
		`{"type":"response.cancel"}`:            {"type", "invalid_value"},
		`{"type":"response.steer","input":"x"}`: {"type", "invalid_value"},
		`{"Type":"response.create","model":"test/m"}`:                           {"type", "invalid_value"},
		`{"type":"response.create","response":{"model":"test/m","input":"hi"}}`: {"response", "unknown_parameter"},
		`{"type":"response.create","input":"hi"}`:                               {"model", "missing_required_parameter"},
		`{"type":"response.create","model":"test/m"}`:                           {"input", "missing_required_parameter"},
		create + `,"stream":false}`:                                             {"stream", "unsupported_value"},
		create + `,"stream":"yes"}`:                                             {"stream", "invalid_type"},
		create + `,"background":true}`:                                          {"background", "unsupported_parameter"},
		create + `,"stream_id":"main"}`:                                         {"stream_id", "unsupported_parameter"},
		create + `,"dance":1}`:                                                  {"dance", "unknown_parameter"},
		create + `,"model":"test/n"}`:                                           {"model", "duplicate_parameter"},
		create + `,"type":"response.create"}`:                                   {"type", "duplicate_parameter"},
		create + `,"metadata":` + strings.Repeat("[", 100_000):                  {"-", "-"},
		create + `,"metadata":` + strings.Repeat(`{"a":`, 2_000) + `1` + strings.Repeat(`}`, 2_000) + `}`: {"-", "-"},
	} {
		k.send(frame)
		e := k.next()
		if e.Type != "error" || !strings.Contains(e.Raw, `"status":400`) {
			t.Fatalf("%.100s is answered %s", frame, e.Raw)
		}
		if want.code != "-" && !strings.Contains(e.Raw, `"code":"`+want.code+`"`) {
			t.Errorf("%.100s is answered %s, want %s", frame, e.Raw, want.code)
		}
		if param := `"param":"` + want.param + `"`; want.param != "-" && want.param != "" && !strings.Contains(e.Raw, param) {
			t.Errorf("%.100s is answered %s, want %s", frame, e.Raw, param)
		}
	}
	if err := k.conn.Write(k.ctx, websocket.MessageBinary, []byte(create+`}`)); err != nil {
		t.Fatal(err)
	}
	k.refused(400, "", "invalid_frame")
	if o := k.create(`"input":"hi","stream":true,"background":false,"stream_options":null`); o.text() != "Hello" {
		t.Errorf("the connection: %s", o.raw)
	}
	if len(s.model.asked()) != 1 {
		t.Errorf("the model was asked %d times", len(s.model.asked()))
	}
}

// TestSocketFramesHaveABound checks that a frame of 8 MiB is accepted, and a larger one gets 413.
// The connection is closed after a frame over 64 MiB.
func TestSocketFramesHaveABound(t *testing.T) {
	longtest.Skip(t, "seconds")
	s := newStage(t, says("Hello"))
	k := s.dial()
	frame := func(size int) string {
		const head, tail = `{"type":"response.create","model":"test/m","input":"`, `"}`
		return head + strings.Repeat("x", size-len(head)-len(tail)) + tail
	}
	k.send(frame(8<<20 + 1))
	if why := k.refused(413, "", "payload_too_large"); !strings.Contains(why, "8 MiB") {
		t.Errorf("refused with %q", why)
	}
	k.send(frame(8 << 20))
	if e := k.turn(); strings.Contains(e[0].Raw, `"status":413`) {
		t.Errorf("a frame of 8 MiB: %s", e[0].Raw)
	}
	k.create(`"input":"hi"`)
	_ = k.conn.Write(k.ctx, websocket.MessageText, []byte(strings.Repeat(" ", 64<<20+8))) // the connection may be closed in the middle
	if _, _, err := k.conn.Read(k.ctx); err == nil || k.ctx.Err() != nil {
		t.Errorf("a frame over 64 MiB: %v", err)
	}
}

// TestSocketFramesThatTrickle checks that a frame that does not arrive completely within the
// timeout ends the connection.
func TestSocketFramesThatTrickle(t *testing.T) {
	s := newStageWith(t, func(c *openai.Config) { c.FrameTimeout = 50 * time.Millisecond })
	k := s.dial()
	out, err := k.conn.Writer(k.ctx, websocket.MessageText)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Write([]byte(strings.Repeat(" ", 64<<10))); err != nil {
		t.Fatal(err)
	}
	if _, _, err := k.conn.Read(k.ctx); err == nil || k.ctx.Err() != nil {
		t.Errorf("half a frame: %v", err)
	}
}
