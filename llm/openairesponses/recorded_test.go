package openairesponses_test

import "testing"

// TestRecordedCalls repeats at least 600 calls that were recorded with OpenAI's SDK. It compares
// the requests and the results with the recorded ones.
func TestRecordedCalls(t *testing.T) {
	remote.Replay(t, "testdata/calls.jsonl.gz", 600)
}
