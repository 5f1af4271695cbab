package openai_test

import "testing"

// TestRecordedCalls checks that requests and results equal at least 600 recorded ones, which were
// made with OpenAI's SDK.
func TestRecordedCalls(t *testing.T) {
	remote.Replay(t, "testdata/calls.jsonl.gz", 600)
}
