package tool

import (
	"fmt"
	"os"
	"strings"
)

// alive reports whether pid runs. A zombie does not run.
func alive(pid int) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	// The name is in parentheses and may itself contain parentheses.
	after := string(raw[strings.LastIndexByte(string(raw), ')')+1:])
	return !strings.HasPrefix(after, " Z") && !strings.HasPrefix(after, " X")
}
