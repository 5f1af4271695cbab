package schemas

import (
	"encoding/json"
	"strings"

	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// Explain describes the value that a schema accepts, and shows an example of the command that sends
// it. The parameter `command` is that command line without the value at its end. Without a schema,
// Explain returns "".
func Explain(raw json.RawMessage, command string) string {
	var lines []string
	fields := Fields(raw)
	switch {
	case len(fields) == 1 && !strings.Contains(fields[0], "  "):
		lines = append(lines, "the value: "+fields[0])
	case len(fields) > 0:
		lines = append(lines, "the fields of the value:")
		for _, field := range fields {
			lines = append(lines, "  "+field)
		}
	}
	if value := Example(raw); value != nil {
		lines = append(lines, "example: "+command+" "+setup.ShellWord(terminal.Inline(string(value))))
	}
	return strings.Join(lines, "\n")
}
