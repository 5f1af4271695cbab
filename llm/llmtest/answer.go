// Package llmtest holds the conformance suite that every provider passes, and a
// fake server that speaks the wire of each. It is imported from tests only.
package llmtest

import "github.com/perdure/perdure"

// Answer is what a fake server says to one call, or how it fails.
type Answer struct {
	Thinking, Signature string
	// Redacted is the data of a redacted thinking block, where the wire has them.
	Redacted string
	// CallSignature signs the first call, where the wire has that.
	CallSignature string
	Text          []string // streamed in these pieces
	Calls         []Call
	Stop          perdure.StopReason // default: tool_use after calls, else end_turn
	Usage         perdure.Usage      // cache counts are not part of Input

	// Status, if set, is the HTTP status of a failure, Header and Body go with it.
	Status int
	Header map[string]string
	Body   string
	// Event, if set, is an error event after the text.
	Event string
	// Cut ends the stream in order after the text, without a terminal event;
	// Break resets the connection there.
	Cut, Break bool
	// HangBefore and HangAfter send nothing more before, or after, the text, and
	// keep the connection open.
	HangBefore, HangAfter bool
	// Raw, if set, are the data lines of the stream as they stand.
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

// halves cuts s in two, on a character.
func halves(s string) (string, string) {
	r := []rune(s)
	return string(r[:len(r)/2]), string(r[len(r)/2:])
}
