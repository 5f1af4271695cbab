package editor

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// recorded is an output that records what it sends to the program.
func recorded() (o *output, sent *[]string, open *string) {
	sent, open = new([]string), new(string)
	o = newOutput(terminal.NewScreen(&bytes.Buffer{}))
	o.send = func(m tea.Msg) {
		if text, ok := m.(openMsg); ok {
			*open = string(text)
			return
		}
		*sent = append(*sent, fmt.Sprint(m))
	}
	return o, sent, open
}

// TestOutputSendsCompleteLines checks that complete lines scroll up in portions that fit the
// terminal, and that the text after the last line end stays in the incomplete line.
func TestOutputSendsCompleteLines(t *testing.T) {
	o, sent, open := recorded()
	long := strings.Repeat("line\n", 100)
	for _, text := range []string{"a", "b\n", "\n", long, "begin", terminal.EraseLine + "again"} {
		if _, err := o.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if *open != "again" {
		t.Errorf("open is %q", *open)
	}
	all := strings.Join(*sent, "\n")
	if got := strings.Count(all, "line"); got != 100 || !strings.HasPrefix(all, "{ab}\n{\x1b[m}\n{line") {
		t.Errorf("%d lines in %q", got, all)
	}
	for _, portion := range *sent {
		if n := strings.Count(portion, "\n"); n >= 12 {
			t.Errorf("a portion has %d line ends", n)
		}
	}
}

// TestOutputKeepsWhatIsHeld checks that no text is lost if it is written while another program has
// the terminal, or after the editor's end.
func TestOutputKeepsWhatIsHeld(t *testing.T) {
	o, sent, open := recorded()
	var device bytes.Buffer
	o.device = &device
	o.hold()
	if _, err := o.Write([]byte("one\ntwo")); err != nil || len(*sent) > 0 {
		t.Fatalf("%v, sent %q", err, *sent)
	}
	o.release()
	if len(*sent) != 1 || *open != "two" {
		t.Errorf("sent %q, open %q", *sent, *open)
	}
	o.hold()
	if _, err := o.Write([]byte(" three\nfour")); err != nil {
		t.Fatal(err)
	}
	o.end()
	if _, err := o.Write([]byte(" five\n")); err != nil {
		t.Fatal(err)
	}
	if got := device.String(); got != "two three\nfour five\n" {
		t.Errorf("the device has %q", got)
	}
}
