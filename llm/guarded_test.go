package llm

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm/internal/hide/hidetest"
)

const testKey = hidetest.Key

// TestGuardedPiecesAreTheResponse checks that the parts of the response equal the result of Fold
// for the deltas, and that neither contains the key. It also checks the order of the deltas: after
// the start of a part, earlier parts get no more text, only tool arguments and ends of tool calls.
func TestGuardedPiecesAreTheResponse(t *testing.T) {
	half := len(testKey) / 2
	var got []Delta
	resp, err := Guarded(testKey, func(d Delta) error { got = append(got, d); return nil }, func(emit func(Delta) error) (*Response, error) {
		b := NewBuilder(emit)
		c := NewCalls(b, "test")
		for _, text := range []string{"thought ", testKey[:half], testKey[half:]} {
			_ = b.Thinking(text)
		}
		b.Sign("signed")
		for _, text := range []string{"said ", testKey[:half], testKey[half:], ", and ", testKey[:5]} {
			_ = b.Text(text)
		}
		one, _ := c.Start("read", testKey)
		two, _ := c.Start(testKey, "call_2")
		for _, text := range []string{`{"a":"`, testKey[:half]} {
			_ = c.Append(one, text)
			_ = c.Append(two, text)
		}
		_ = c.Append(one, testKey[half:]+`"}`)
		_ = c.Append(two, `"}`)
		_ = c.Finish()
		return b.Finish(Model{Provider: "test", ID: "m"}, perdure.StopEndTurn, perdure.Usage{Output: 1}, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	if hidetest.Readable(fmt.Sprintf("%+v %+v", got, resp), testKey) {
		t.Errorf("the key is in %+v or %+v", got, resp)
	}
	want := []perdure.Part{
		{Type: perdure.PartThinking, Thinking: "thought [key]"},
		{Type: perdure.PartText, Text: "said [key], and " + testKey[:5]},
		{Type: perdure.PartToolCall, Name: "read", ProviderID: "[key]", RawArguments: `{"a":"[key]"}`, Arguments: []byte(`{"a":"[key]"}`)},
		{Type: perdure.PartToolCall, Name: "[key]", ProviderID: "call_2", RawArguments: `{"a":"[key]"}`, Arguments: []byte(`{"a":"[key]"}`)},
	}
	if diff := cmp.Diff(want, resp.Parts); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Fold(got), resp.Parts); diff != "" {
		t.Error(diff)
	}
	for i := 1; i < len(got); i++ {
		if got[i].Part < got[i-1].Part && got[i].Kind != DeltaToolArguments && got[i].Kind != DeltaToolEnd {
			t.Errorf("part %d goes on after part %d", got[i].Part, got[i-1].Part)
		}
	}
}

// TestGuardedReturnsTheErrorOfEmit checks that Guarded returns an error of emit, even if emit fails
// for withheld text that is emitted at the end.
func TestGuardedReturnsTheErrorOfEmit(t *testing.T) {
	broken := errors.New("no more")
	for fails := range 3 {
		n := 0
		emit := func(Delta) error {
			if n++; n > fails {
				return broken
			}
			return nil
		}
		_, err := Guarded(testKey, emit, func(emit func(Delta) error) (*Response, error) {
			b := NewBuilder(emit)
			for _, text := range []string{"a ", "b ", testKey[:4]} {
				if err := b.Text(text); err != nil {
					return nil, err
				}
			}
			return b.Finish(Model{}, perdure.StopEndTurn, perdure.Usage{Output: 1}, nil)
		})
		if !errors.Is(err, broken) {
			t.Errorf("after %d pieces: %v", fails, err)
		}
	}
}

func TestGuardedErrorsAndPanicsHoldNoKey(t *testing.T) {
	for name, text := range hidetest.Writings(testKey) {
		for _, err := range []error{
			errors.New(text), &Error{Kind: Auth, Message: text, Retryable: true}, &Error{Kind: Auth, Message: "no", Err: errors.New(text)},
			fmt.Errorf("around %w", &Error{Kind: Auth, Message: text}),
		} {
			_, got := Guarded(testKey, nil, func(func(Delta) error) (*Response, error) { return nil, err })
			for cause := got; cause != nil; cause = errors.Unwrap(cause) {
				if hidetest.Readable(fmt.Sprintf("%v %+v", cause, cause), testKey) {
					t.Errorf("%s: the error is %v", name, cause)
				}
			}
			var said, before *Error
			if errors.As(err, &before) && (!errors.As(got, &said) || said.Kind != before.Kind || said.Retryable != before.Retryable) {
				t.Errorf("%s: %v has become %v", name, err, got)
			}
		}
		func() {
			defer func() {
				if p := recover(); p == nil || hidetest.Readable(fmt.Sprint(p), testKey) {
					t.Errorf("%s: the panic is %v", name, p)
				}
			}()
			_, _ = Guarded(testKey, nil, func(func(Delta) error) (*Response, error) { panic("no: " + text) })
		}()
	}
}
