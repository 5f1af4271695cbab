package gemini_test

import "testing"

// TestRecordedCalls checks that requests and results equal at least 900 recorded ones, which were
// made with Google's SDK.
func TestRecordedCalls(t *testing.T) {
	remote.Replay(t, "testdata/calls.jsonl.gz", 900, "contents", "systemInstruction", "tools", "toolConfig")
}
