package setup

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// serverFlags returns the flags of the command line that select the server. Another command with
// these flags uses the same server.
func serverFlags(flags *pflag.FlagSet) string {
	text := ""
	for _, name := range []string{"server", "data", "org"} {
		if f := flags.Lookup(name); f != nil && f.Changed && len(f.Annotations[FromVariable]) == 0 {
			text += " --" + name + " " + ShellWord(f.Value.String())
		}
	}
	return text
}

// ShellWord returns a string as one word of a shell command, in quotes if needed.
func ShellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || slices.Contains([]rune("-_./:@%+=,"), r)
	}
	for _, r := range s {
		if !plain(r) {
			return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
		}
	}
	return s
}
