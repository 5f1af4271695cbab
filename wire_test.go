package perdure_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"pgregory.net/rapid"
)

func TestTimeOnTheWire(t *testing.T) {
	raw, err := json.Marshal(perdure.At(time.Date(2026, 3, 4, 5, 6, 7, 100_999_999, time.FixedZone("", 3600))))
	if err != nil || string(raw) != `"2026-03-04T04:06:07.100Z"` {
		t.Errorf("%s %v", raw, err)
	}
	rapid.Check(t, func(t *rapid.T) {
		in := perdure.AtMilli(rapid.Int64Range(0, 4e12).Draw(t, "ms"))
		text, err := in.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var out perdure.Time
		if err := out.UnmarshalText(text); err != nil || !out.Equal(in.Time) {
			t.Fatalf("%s became %s (%v)", in, out, err)
		}
	})
}

// TestTaskErrorOnTheWire checks that a duration in JSON has its unit in the name, and is rounded up.
func TestTaskErrorOnTheWire(t *testing.T) {
	in := perdure.TaskError{Code: "task_failed", Message: "m", Permanent: true, RetryAfter: 1500*time.Millisecond + 1}
	raw, err := json.Marshal(&in)
	if want := `{"code":"task_failed","message":"m","permanent":true,"retryAfterMs":1501}`; err != nil || string(raw) != want {
		t.Errorf("%s (%v), want %s", raw, err, want)
	}
	var out perdure.TaskError
	if err := json.Unmarshal(raw, &out); err != nil || out.RetryAfter != 1501*time.Millisecond || out.Code != in.Code || !out.Permanent {
		t.Errorf("%+v (%v)", out, err)
	}
	if raw, err = json.Marshal(perdure.Task{Error: &perdure.TaskError{Code: "c"}}.Error); err != nil || string(raw) != `{"code":"c","message":""}` {
		t.Errorf("%s (%v)", raw, err)
	}
}

func TestCursorRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := perdure.Cursor{
			Epoch: rapid.Uint64().Draw(t, "epoch"), Pos: rapid.Int64Range(0, 1<<61).Draw(t, "pos"), Nonce: rapid.Uint32().Draw(t, "nonce"),
		}
		out, err := perdure.ParseCursor(in.String())
		if err != nil || out != in {
			t.Fatalf("%v became %v (%v)", in, out, err)
		}
	})
}

// TestCursorWithoutANonce checks that a cursor of the old form consists of an epoch and a pos, without
// a nonce. It is parsed with Nonceless set, and its String is the old form. Trailing bytes that are
// not a whole nonce are refused.
func TestCursorWithoutANonce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := perdure.Cursor{Epoch: rapid.Uint64().Draw(t, "epoch"), Pos: rapid.Int64Range(0, 1<<61).Draw(t, "pos"), Nonceless: true}
		raw := binary.AppendUvarint(binary.BigEndian.AppendUint64(nil, in.Epoch), uint64(in.Pos))
		old := base64.RawURLEncoding.EncodeToString(raw)
		if out, err := perdure.ParseCursor(old); err != nil || out != in || out.String() != old {
			t.Fatalf("%v became %v (%v)", in, out, err)
		}
		for _, garbage := range [][]byte{append(raw, 1), append(raw, 1, 2, 3), append(raw, 1, 2, 3, 4, 5), raw[:8], raw[1:]} {
			s := base64.RawURLEncoding.EncodeToString(garbage)
			if c, err := perdure.ParseCursor(s); err == nil && (c.String() != s || len(garbage) > len(raw)) {
				t.Fatalf("%x became %v", garbage, c)
			}
		}
	})
}

func FuzzParseCursor(f *testing.F) {
	f.Add(perdure.Cursor{Epoch: 7, Pos: 300}.String())
	f.Add("AAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, s string) {
		c, err := perdure.ParseCursor(s)
		if err == nil && s != "" && c.String() != s {
			t.Errorf("%q and %q are one cursor", s, c)
		}
		if err != nil && !perdure.IsCode(err, perdure.InvalidArgument) {
			t.Error(err)
		}
	})
}

func TestWaitIsShownWhileWaitingOnly(t *testing.T) {
	w := perdure.WaitSignal("go")
	x := perdure.Execution{Status: perdure.StatusWaiting, Wait: &w, WaitReason: "signal"}
	members := func() map[string]any {
		raw, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	if m := members(); m["waitReason"] != "signal" || m["wait"] == nil {
		t.Errorf("while waiting: %v", m)
	}
	x.Status = perdure.StatusPending
	if m := members(); m["waitReason"] != nil || m["wait"] != nil {
		t.Errorf("after: %v", m)
	}
	if _, shown := members()["output"]; !shown {
		t.Error("output is left out instead of null")
	}
}

func TestCodeOf(t *testing.T) {
	coded := perdure.FieldErrorf("limit", "is absurd")
	for want, err := range map[perdure.Code]error{
		"":                      nil,
		perdure.Internal:        errors.New("x"),
		perdure.InvalidArgument: fmt.Errorf("while listing: %w", coded),
		perdure.LeaseLost:       fmt.Errorf("x: %w", &perdure.TaskError{Code: perdure.LeaseLost}),
	} {
		if got := perdure.CodeOf(err); got != want {
			t.Errorf("%v: %s, not %s", err, got, want)
		}
	}
}

func TestUsageAddIsNullAware(t *testing.T) {
	one, two := 1.0, 2.0
	sum := perdure.Usage{Input: 1, Cost: &one}.Add(perdure.Usage{Input: 2, Calls: 1}).Add(perdure.Usage{Cost: &two})
	if sum.Input != 3 || sum.Calls != 1 || sum.Cost == nil || *sum.Cost != 3 {
		t.Errorf("%+v", sum)
	}
	if none := (perdure.Usage{}).Add(perdure.Usage{}); none.Cost != nil {
		t.Error("an unknown cost became a known one")
	}
	if one != 1 {
		t.Error("an operand was changed")
	}
}
