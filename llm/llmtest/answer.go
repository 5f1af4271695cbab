// Package llmtest has the conformance suite for providers, and a fake server for each wire
// protocol. It is imported only from tests.
package llmtest

import "github.com/perdure/perdure"

// Answer is the answer, or the failure, of a fake server to one call.
type Answer struct {
	Thinking, Signature string
	// Redacted is the data of a redacted thinking block, for wires with such blocks.
	Redacted string
	// CallSignature is the signature of the first call, for wires whose calls have signatures.
	CallSignature string
	Text          []string // streamed in these pieces
	Calls         []Call
	Stop          perdure.StopReason // default: tool_use after calls, else end_turn
	Usage         perdure.Usage      // Input excludes cache counts

	// Status, if set, is the HTTP status of a failure with Header and Body.
	Status int
	Header map[string]string
	Body   string
	// Event, if set, is an error event after the text.
	Event string
	// Cut ends the stream normally after the text, without a terminal event. Break resets the
	// connection there.
	Cut, Break bool
	// HangBefore and HangAfter stop sending before or after the text, and keep the connection open.
	HangBefore, HangAfter bool
	// Raw, if set, are the unchanged data lines of the stream.
	Raw []string
	// Stream, if set, is the whole body of the stream.
	Stream string
}

// Call is a tool call of an Answer.
type Call struct{ ID, Name, Arguments string }

func (a Answer) stop() perdure.StopReason {
	switch {
	case a.Stop != "":
		return a.Stop
	case len(a.Calls) > 0:
		return perdure.StopToolUse
	}
	return perdure.StopEndTurn
}

// halves splits s into two halves at a character boundary.
func halves(s string) (string, string) {
	r := []rune(s)
	return string(r[:len(r)/2]), string(r[len(r)/2:])
}
