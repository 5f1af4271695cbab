package runs

import "testing"

// TestChatArguments checks how perdure chat understands its arguments: an id (or the word "last")
// and a prompt, both optional. The command refuses a part of an id, and a second prompt.
func TestChatArguments(t *testing.T) {
	const id = "0199d7e2-1111-7222-8333-444455556666"
	for _, c := range []struct {
		resume     string
		args       []string
		id, prompt string
		fails      bool
	}{
		{},
		{args: []string{"hello"}, prompt: "hello"},
		{args: []string{id}, id: id},
		{args: []string{"last", "go on"}, id: "last", prompt: "go on"},
		{resume: id, args: []string{"go on"}, id: id, prompt: "go on"},
		{args: []string{"0199d7e2-1111"}, fails: true},
		{args: []string{id + "x"}, fails: true},
		{args: []string{"deadbeef is a word"}, prompt: "deadbeef is a word"},
		{args: []string{"two", "prompts"}, fails: true},
		{resume: id, args: []string{"two", "prompts"}, fails: true},
	} {
		gotID, prompt, err := chatArguments(c.resume, c.args)
		if gotID != c.id || prompt != c.prompt || (err != nil) != c.fails {
			t.Errorf("%q %q: %q, %q, %v", c.resume, c.args, gotID, prompt, err)
		}
	}
}
