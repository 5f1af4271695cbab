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

// readEdit parses the value of --edit, JSON or - for standard input, into the details of the request.
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

// errNoEditor is returned by EditFile if the environment names no editor.
var errNoEditor = errors.New("set $VISUAL or $EDITOR to the editor to use")

// EditFile lets a person change a text in the editor that $VISUAL or $EDITOR names.
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

// edited lets a person change the details in an editor, and returns the answer that approves the
// changed details. If the editor fails or the result is not JSON, it returns the problem instead.
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
