package llm_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// promptOfTexts returns the Prompt for user messages with these texts.
func promptOfTexts(t *testing.T, system string, texts []string) llm.Prompt {
	t.Helper()
	r := llm.Request{System: system, Messages: []perdure.Message{}}
	for _, text := range texts {
		r.Messages = append(r.Messages, perdure.UserText(text))
	}
	p, err := llm.PromptOf(r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestChangesOfPromptsAreFound checks that ChangeFrom finds the first message that differs between
// two random prompts. It must return a range of indexes that contains this message. The length of
// the range is at most an eighth of the message's index, plus one. The size of the marks must grow
// slowly with the conversation.
func TestChangesOfPromptsAreFound(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 3))
		earlier := make([]string, 1+r.IntN(400))
		for i := range earlier {
			earlier[i] = fmt.Sprint("message ", i)
		}
		at := r.IntN(len(earlier))
		now := append([]string{}, earlier...)
		now[at] += " changed"
		now = append(now[:at+1+r.IntN(len(now)-at)], "new")
		a, b := promptOfTexts(t, "s", earlier), promptOfTexts(t, "s", now)
		c := b.ChangeFrom(a)
		if c.Head || c.From > at || c.To <= at && c.To < len(now) || c.To-c.From > max(1, at/8+1) && c.To != len(earlier) {
			t.Errorf("seed %d: the change at %d of %d is found at %+v", seed, at, len(earlier), c)
		}
		if c, differs := b.ChangeWithin(a, c.From); differs || c.From > at {
			t.Errorf("seed %d: a change is found in the %d messages that are equal: %+v", seed, at, c)
		}
		if len(b.Marks) > 50*8 {
			t.Errorf("the marks of %d messages have %d bytes", len(now), len(b.Marks))
		}
	}
	texts := []string{"a", "b", "c"}
	if c := promptOfTexts(t, "other", texts).ChangeFrom(promptOfTexts(t, "s", texts)); c != (llm.PromptChange{Head: true}) {
		t.Errorf("another system prompt is found at %+v", c)
	}
	if c := promptOfTexts(t, "s", texts).ChangeFrom(llm.Prompt{Messages: 2}); c != (llm.PromptChange{To: 2}) {
		t.Errorf("a prompt without marks differs at %+v", c)
	}
}
