package chaos

import (
	"fmt"
	"strings"
)

// Script is the scripted conversation of one agent. It has Turns turns with tool calls, then one
// turn with only text, and then one turn with only text for each late message.
type Script struct {
	Name  string // name of the file with the script, for the scripted provider
	Run   int
	Turns int
	Late  int // maximum number of late messages
	// Pause is the time in seconds between a tool's first and second effect.
	Pause string
}

// Call is a tool call of a script.
type Call struct {
	Tool, Arguments string
	// Result is the result of a finished call.
	Result string
	// Effect is the name in the two lines that the call appends to the file Script.Effects; "" for
	// a tool that only reads.
	Effect string
}

// Prompt returns the first message of the conversation.
func (s Script) Prompt() string { return fmt.Sprintf("Do what run %d has to do.", s.Run) }

// Says returns the agent's text in a turn, counted from 1.
func (s Script) Says(turn int) string {
	switch {
	case turn <= s.Turns:
		return fmt.Sprintf("Run %d is in turn %d, and goes on with what is next.", s.Run, turn)
	case turn == s.Turns+1:
		return fmt.Sprintf("Run %d has done it all.", s.Run)
	}
	return fmt.Sprintf("Run %d has heard that in turn %d.", s.Run, turn)
}

// Calls returns the tool calls of a turn, counted from 1; nil after Turns turns. Each turn has a
// call with an effect. Three of four turns have a second call, which reads a file, has another
// effect, or searches a file.
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

// numbered is Shared in the format in which the tool read-file returns it.
const numbered = "     1\tin the hay\n     2\tthe needle\n     3\tand more hay"

// Effects returns the name of the file to which the run's tools append a line for each effect.
func (s Script) Effects() string { return fmt.Sprintf("effects/%d.txt", s.Run) }

func (s Script) effect(turn, n int) Call {
	name := fmt.Sprintf("%d-%d-%d", s.Run, turn, n)
	command := fmt.Sprintf("echo begin-%[1]s >> %[2]s; sleep %[3]s; echo end-%[1]s >> %[2]s; echo did %[1]s", name, s.Effects(), s.Pause)
	return Call{Tool: "bash", Arguments: fmt.Sprintf(`{"command": %q}`, command), Result: "did " + name + "\n[exit code 0]", Effect: name}
}

// Text returns the script in the format of the scripted provider.
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
