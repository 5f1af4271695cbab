package setup

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestCountFlagsTakeOnlyTheirRange checks that a flag with a range takes the numbers of the range, refuses
// others with an error that names the range, and shows its default like other flags.
func TestCountFlagsTakeOnlyTheirRange(t *testing.T) {
	for _, c := range []struct {
		most int
		text string
		want string // the end of the error; "" if the value is taken
	}{
		{1000, "1", ""},
		{1000, "1000", ""},
		{1000, "0", "from 1 to 1000"},
		{1000, "-1", "from 1 to 1000"},
		{1000, "1001", "from 1 to 1000"},
		{1000, "x", "from 1 to 1000"},
		{1000, "99999999999999999999", "from 1 to 1000"},
		{Unbounded, "1001", ""},
		{Unbounded, "0", "at least 1"},
	} {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		n := 0
		CountFlag(flags, &n, "limit", "", 20, 1, c.most, "how many")
		if usage := flags.FlagUsages(); n != 20 || !strings.Contains(usage, "--limit int   how many (default 20)") {
			t.Errorf("the default is %d, the help %q", n, usage)
		}
		err := flags.Parse([]string{"--limit=" + c.text})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.text, err)
		case c.want != "" && (err == nil || !strings.HasSuffix(err.Error(), c.want) || n != 20):
			t.Errorf("%s: %v, and the value is %d", c.text, err, n)
		}
	}
}
