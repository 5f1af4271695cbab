package tool

import (
	"fmt"
	"os"
	"strings"
)

// alive reports whether the process pid runs. A zombie does not run.
func alive(pid int) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	// The name of the program is in parentheses and may itself contain parentheses.
	after := string(raw[strings.LastIndexByte(string(raw), ')')+1:])
	return !strings.HasPrefix(after, " Z") && !strings.HasPrefix(after, " X")
}
