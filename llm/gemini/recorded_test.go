package gemini_test

import "testing"

// TestRecordedCalls repeats at least 900 calls that were recorded with Google's SDK. It compares
// the requests and the results with the recorded ones.
func TestRecordedCalls(t *testing.T) {
	remote.Replay(t, "testdata/calls.jsonl.gz", 900, "contents", "systemInstruction", "tools", "toolConfig")
}
