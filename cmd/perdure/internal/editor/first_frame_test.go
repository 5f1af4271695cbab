package editor

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// TestOutputWaitsForTheInputLine checks that output from before the first drawing of the input line is
// shown after that drawing.
func TestOutputWaitsForTheInputLine(t *testing.T) {
	for name, write := range map[string]func(io.Writer, string) (int, error){
		"bytes": func(w io.Writer, text string) (int, error) { return w.Write([]byte(text)) },
		"text":  io.WriteString,
	} {
		t.Run(name, func(t *testing.T) {
			file, err := os.Create(filepath.Join(t.TempDir(), "terminal"))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			o, sent := newOutput(terminal.NewScreen(io.Discard)), 0
			o.send = func(tea.Msg) { sent++ }
			o.state = starting
			f := &firstFrame{File: file, drawn: o.drawn, writes: func() {}}
			_, _ = io.WriteString(o, "run 1\nopen")
			o.SetOpen("more")
			if _, err := write(f, "a query of the terminal"); err != nil || sent != 0 {
				t.Fatalf("%d messages are sent before the input line is drawn, %v", sent, err)
			}
			if _, err := write(f, "\r› "); err != nil || sent == 0 {
				t.Fatalf("%d messages are sent after it is drawn, %v", sent, err)
			}
			raw, err := os.ReadFile(file.Name())
			if err != nil || string(raw) != "a query of the terminal\r› " {
				t.Errorf("the terminal has got %q, %v", raw, err)
			}
		})
	}
}

// TestOutputOfAShortEditorIsKept checks that an editor that ends before its input line is drawn loses
// no output.
func TestOutputOfAShortEditorIsKept(t *testing.T) {
	var device strings.Builder
	o := newOutput(terminal.NewScreen(&device))
	o.state = starting
	_, _ = io.WriteString(o, "run 1\nopen")
	o.hold()
	o.drawn()
	o.end()
	if device.String() != "run 1\nopen" {
		t.Errorf("the terminal has got %q", device.String())
	}
}
