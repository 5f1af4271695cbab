package questions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
)

// readEdit parses the value of the flag --edit and sets it as the changed details in r. The value is JSON,
// or - for JSON from standard input.
func readEdit(a *setup.App, arg string, r *client.AnswerRequest) error {
	if r.Verdict != perdure.VerdictApprove {
		return setup.NewUsageError("--edit stands only beside approve", "it changes what is approved")
	}
	if arg == "-" {
		raw, err := io.ReadAll(a.Stdin)
		if err != nil {
			return err
		}
		arg = strings.TrimSpace(string(raw))
	}
	if !json.Valid([]byte(arg)) {
		return setup.NewUsageError("--edit is no JSON: "+arg, "it takes the changed details as JSON, or - to read them from standard input")
	}
	r.Details = json.RawMessage(arg)
	return nil
}

// errNoEditor is the error of EditFile if neither $VISUAL nor $EDITOR is set.
var errNoEditor = errors.New("set $VISUAL or $EDITOR to the editor to use")

// EditFile opens a text in the editor that $VISUAL or $EDITOR names, and returns the text that the person
// saves.
func EditFile(ctx context.Context, text []byte) ([]byte, error) {
	editor := os.Getenv("VISUAL")
	if editor == "" {
		editor = os.Getenv("EDITOR")
	}
	if editor == "" {
		return nil, errNoEditor
	}
	f, err := os.CreateTemp("", "perdure-*.json")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	words := strings.Fields(editor)
	cmd := exec.CommandContext(ctx, words[0], append(words[1:], f.Name())...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w", editor, err)
	}
	changed, err := os.ReadFile(f.Name())
	return []byte(strings.TrimSpace(string(changed))), err
}

// edited opens the details of a question in an editor, and returns the answer that approves them as
// changed. If the editor fails or the result is not JSON, `wrong` is a text about that problem.
func (t Terminal) edited(ctx context.Context, details []byte) (r client.AnswerRequest, wrong string) {
	changed, err := t.Edit(ctx, details)
	switch {
	case err != nil:
		return r, err.Error()
	case !json.Valid(changed):
		return r, "that is no JSON any more; nothing was sent"
	}
	return client.AnswerRequest{Verdict: perdure.VerdictApprove, Details: changed}, ""
}
