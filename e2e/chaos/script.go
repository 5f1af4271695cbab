package chaos

import (
	"fmt"
	"strings"
)

// Script is the conversation of one agent: Turns with tools, then one that says
// the end, then one more for each message that comes late.
type Script struct {
	Name  string // of the file that the scripted provider plays
	Run   int
	Turns int
	Late  int // how many messages may come
	// Pause is how long, in seconds, a tool takes from its first effect to its
	// second.
	Pause string
}

// Call is a tool call of a script.
type Call struct {
	Tool, Arguments string
	// Result is what a finished one answers.
	Result string
	// Effect names what it leaves outside; "" for a tool that only reads.
	Effect string
}

// Prompt begins the conversation.
func (s Script) Prompt() string { return fmt.Sprintf("Do what run %d has to do.", s.Run) }

// Says is what the agent says in a turn, from 1.
func (s Script) Says(turn int) string {
	switch {
	case turn <= s.Turns:
		return fmt.Sprintf("Run %d is in turn %d, and goes on with what is next.", s.Run, turn)
	case turn == s.Turns+1:
		return fmt.Sprintf("Run %d has done it all.", s.Run)
	}
	return fmt.Sprintf("Run %d has heard that in turn %d.", s.Run, turn)
}

// Calls are the tool calls of a turn: one with an effect, and in most turns
// another with one, a reading tool, or a file that is written.
func (s Script) Calls(turn int) []Call {
	if turn > s.Turns {
		return nil
	}
	calls := []Call{s.effect(turn, 0)}
	switch turn % 4 {
	case 1:
		calls = append(calls, Call{Tool: "read-file", Arguments: `{"path": "shared.txt"}`, Result: numbered})
	case 2:
		calls = append(calls, s.effect(turn, 1))
	case 3:
		calls = append([]Call{{Tool: "grep", Arguments: `{"pattern": "needle", "path": "shared.txt"}`, Result: "shared.txt:2:the needle"}}, calls...)
	}
	return calls
}

// Shared is the content of the file shared.txt, which tools read.
const Shared = "in the hay\nthe needle\nand more hay\n"

// numbered is Shared as read-file shows it.
const numbered = "     1\tin the hay\n     2\tthe needle\n     3\tand more hay"

// Effects is the file that a run's tools leave lines in.
func (s Script) Effects() string { return fmt.Sprintf("effects/%d.txt", s.Run) }

func (s Script) effect(turn, n int) Call {
	name := fmt.Sprintf("%d-%d-%d", s.Run, turn, n)
	command := fmt.Sprintf("echo begin-%[1]s >> %[2]s; sleep %[3]s; echo end-%[1]s >> %[2]s; echo did %[1]s", name, s.Effects(), s.Pause)
	return Call{Tool: "bash", Arguments: fmt.Sprintf(`{"command": %q}`, command), Result: "did " + name + "\n[exit code 0]", Effect: name}
}

// Text is the script as the scripted provider plays it.
func (s Script) Text() string {
	var out strings.Builder
	out.WriteString("pace 2ms\n")
	for turn := 1; turn <= s.Turns+1+s.Late; turn++ {
		fmt.Fprintf(&out, "turn\n  text %s\n", s.Says(turn))
		for _, c := range s.Calls(turn) {
			fmt.Fprintf(&out, "  call %s %s\n", c.Tool, c.Arguments)
		}
	}
	return out.String()
}
