package lookup

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// TestTextsOfACallArePrintedAsLines checks that the system prompt and the messages of a model call are printed
// with their line ends, indented, so that none of their lines looks like another message. Control characters are
// escaped.
func TestTextsOfACallArePrintedAsLines(t *testing.T) {
	parts, err := json.Marshal([]perdure.Part{perdure.Text("First line.\nassistant\n\tindented \x1b[2J")})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	a := &setup.App{Streams: terminal.Streams{Stdout: terminal.NewScreen(&out)}}
	m := &client.ModelCall{}
	m.SystemPrompt, m.Messages = "Be brief.\nBe exact.", []client.CallMessage{{Role: perdure.RoleUser, Parts: parts}}
	if err := printCall(a, m); err != nil {
		t.Fatal(err)
	}
	if want := "\nsystem\n  Be brief.\n  Be exact.\n\nuser\n  First line.\n  assistant\n  \tindented \\u001b[2J\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("the call is printed as\n%s\nwant at its end\n%s", &out, want)
	}
}
