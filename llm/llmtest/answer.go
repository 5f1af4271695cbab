// Package llmtest contains a suite of tests that every provider must pass, and a fake server for each
// wire protocol. Only tests import it.
package llmtest

import "github.com/perdure/perdure"

// Answer is how a fake server answers one call: with content, or with a failure.
type Answer struct {
	Thinking, Signature string
	// Redacted is the data of a redacted thinking block, for protocols that have such blocks.
	Redacted string
	// CallSignature is the signature of the first tool call, for protocols in which tool calls have
	// signatures.
	CallSignature string
	Text          []string // pieces in which the text is streamed
	Calls         []Call
	Stop          perdure.StopReason // default: tool_use if there are tool calls, else end_turn
	Usage         perdure.Usage      // Input does not include tokens of the cache

	// Status, if set, makes the answer an error response with this HTTP status, and with Header and
	// Body.
	Status int
	Header map[string]string
	Body   string
	// Event, if set, is an error event that is sent after the text.
	Event string
	// Cut ends the HTTP response normally after the text, without a terminal event. Break resets
	// the connection after the text.
	Cut, Break bool
	// HangBefore stops sending before the text, and HangAfter after the text. The connection stays
	// open.
	HangBefore, HangAfter bool
	// Raw, if set, contains the data lines that are sent instead of the stream, unchanged.
	Raw []string
	// Stream, if set, replaces the whole body of the stream.
	Stream string
}

// Call is a tool call in an Answer.
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
