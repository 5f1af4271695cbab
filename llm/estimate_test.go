package llm_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/llmtest"
)

// TestAnEstimateIsTheSumOfItsParts checks the estimates of random prompts. The estimate of a prompt
// is the sum of the estimates of its messages and of the system prompt with the tools. The estimate
// never decreases when a message is added, and does not change when the messages are stored and
// read again.
func TestAnEstimateIsTheSumOfItsParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages := llmtest.DrawPath(t).Messages
		rule := rapid.SampledFrom([]llm.ImageRule{"", llm.ImagesByArea, llm.ImagesByTiles, llm.ImagesByLargeTiles}).Draw(t, "rule")
		l := llm.Limits{Window: 1000, ImageTokens: rule}
		system := rapid.String().Draw(t, "system")
		sum := llm.EstimateHead(system, offered)
		for n, m := range messages {
			if got := llm.Estimate(system, offered, messages[:n], l); got != sum {
				t.Fatalf("%d messages are %d tokens, their parts %d", n, got, sum)
			}
			one := llm.EstimateMessage(m, l)
			if one < 0 {
				t.Fatalf("message %d is %d tokens", n, one)
			}
			sum += one
			raw, err := json.Marshal(m.Content)
			if err != nil {
				t.Fatal(err)
			}
			read := perdure.Message{Role: m.Role}
			if err := json.Unmarshal(raw, &read.Content); err != nil {
				t.Fatal(err)
			}
			if again := llm.EstimateMessage(read, l); again != one {
				t.Fatalf("message %d is %d tokens, and %d after it was stored", n, one, again)
			}
		}
	})
}

// TestEstimates compares the estimates for each type of part with fixed numbers.
func TestEstimates(t *testing.T) {
	signed := perdure.Part{Type: perdure.PartThinking, Thinking: strings.Repeat("t", 70), ThinkingSignature: "s"}
	unsigned := signed
	unsigned.ThinkingSignature = ""
	for name, c := range map[string]struct {
		part perdure.Part
		want int
	}{
		"nothing":          {perdure.Text(""), 0},
		"a byte":           {perdure.Text("a"), 1},
		"rounded up":       {perdure.Text(strings.Repeat("a", 8)), 3},
		"bytes of UTF-8":   {perdure.Text(strings.Repeat("ü", 35)), 20},
		"a summary":        {perdure.Compaction(strings.Repeat("a", 35)), int(math.Ceil(float64(35+len(perdure.SummaryPrefix)) / 3.5))},
		"thinking":         {signed, 20},
		"its own thinking": {unsigned, 0},
		"redacted":         {perdure.Part{Type: perdure.PartThinking, Redacted: true, ThinkingSignature: strings.Repeat("s", 35)}, 10},
		"a call":           {perdure.Part{Type: perdure.PartToolCall, ID: strings.Repeat("i", 100), Name: "bash12", RawArguments: `{"a":"bcdefgh"}`, Arguments: []byte(`{"a":"bcdefgh"}`)}, 6},
		"a cut call":       {perdure.Part{Type: perdure.PartToolCall, Name: "f", RawArguments: `{"a":1`}, 2},
		"a result":         {llmtest.Result("c", "bash", perdure.Text("abc"), perdure.Text("defg"), perdure.Part{Type: perdure.PartImage, URL: "https://x"}).Parts[0], 1602},
		"a text file":      {perdure.Part{Type: perdure.PartFile, MimeType: "text/csv", Data: "YWJjZGVmZ2hp"}, 3},
		"a small PDF":      {perdure.Part{Type: perdure.PartFile, MimeType: "application/pdf", Data: "JVBERi0="}, 1600},
		"a large PDF":      {perdure.Part{Type: perdure.PartFile, MimeType: "application/pdf", Data: strings.Repeat("AAAA", 100_000)}, 12_000},
		"a file by id":     {perdure.Part{Type: perdure.PartFile, FileID: "f"}, 1600},
	} {
		if got := llm.EstimateMessage(message(perdure.RoleUser, []perdure.Part{c.part}), llm.Limits{}); got != c.want {
			t.Errorf("%s is %d tokens, want %d", name, got, c.want)
		}
	}
	tools := []llm.ToolSpec{{Name: "bash", Description: "runs", Schema: []byte(`{"type":1}`)}}
	if got := llm.Estimate("abc", tools, nil, llm.Limits{}); got != 6 { // for 21 bytes
		t.Errorf("system prompt and tools are %d tokens", got)
	}
}
