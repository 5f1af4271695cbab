package terminal

import (
	"bytes"
	"strings"
	"testing"

	xansi "github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

func tableAt(t *testing.T, width int) string {
	t.Helper()
	list := Table{Columns: []Column{{Head: "ID"}, {Head: "KIND", Omit: 2}, {Head: "STARTED", Omit: 1}, {Head: "ABOUT", Cut: true}}}
	list.Add("0199d7e2", "react", "3 min ago", "Find out why\nthe tests fail, and mend it 漢字")
	list.Add("0199d7e3", "report", "-", "")
	var out bytes.Buffer
	p := newPage(NewScreen(&out))
	p.width = func() int { return width }
	if err := list.write(p); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if w := xansi.StringWidth(line); width > 0 && w > width {
			t.Errorf("%d columns in a terminal of %d: %q", w, width, line)
		}
	}
	return out.String()
}

func TestTableFitsTheTerminal(t *testing.T) {
	for width, want := range map[int]string{
		0: `
ID        KIND    STARTED    ABOUT
0199d7e2  react   3 min ago  Find out why the tests fail, and mend it 漢字
0199d7e3  report  -
`,
		50: `
ID        KIND    STARTED    ABOUT
0199d7e2  react   3 min ago  Find out why the tes…
0199d7e3  report  -
`,
		36: `
ID        STARTED    ABOUT
0199d7e2  3 min ago  Find out why t…
0199d7e3  -
`,
		24: `
ID        ABOUT
0199d7e2  Find out why …
0199d7e3
`,
	} {
		if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), tableAt(t, width)); diff != "" {
			t.Errorf("%d columns: %s", width, diff)
		}
	}
}

// TestTableOmitsColumnsForTheLeastWidth checks that columns are omitted before the column that may be
// cut becomes narrower than its least width.
func TestTableOmitsColumnsForTheLeastWidth(t *testing.T) {
	list := Table{Columns: []Column{{Head: "ID"}, {Head: "STARTED", Omit: 2}, {Head: "ABOUT", Omit: 1, Cut: true, Least: 20}}}
	list.Add("0199d7e2", "3 min ago", "Find out why the tests fail, and mend it")
	for width, want := range map[int]string{
		40: "ID        ABOUT\n0199d7e2  Find out why the tests fail, …\n",
		41: "ID        STARTED    ABOUT\n0199d7e2  3 min ago  Find out why the te…\n",
	} {
		var out bytes.Buffer
		p := newPage(NewScreen(&out))
		p.width = func() int { return width }
		if err := list.write(p); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("%d columns: %s", width, diff)
		}
	}
}
