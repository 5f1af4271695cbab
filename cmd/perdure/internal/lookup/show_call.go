package lookup

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// showCall shows a model call of a run. If the parameter `as` is the name of a provider's API,
// showCall instead prints the request that this API would receive for the call.
func showCall(ctx context.Context, a *setup.App, conn *connection.Conn, run, call, as string) error {
	x, err := Find(ctx, conn.Client, run)
	if err != nil {
		return err
	}
	id, err := findCall(ctx, conn.Client, x.ID, call)
	if err != nil {
		return err
	}
	if as != "" {
		return writeCallRequest(ctx, a, conn.Client, x.ID, id, as)
	}
	m, err := conn.ModelCall(ctx, x.ID, id)
	if err != nil {
		return err
	}
	return printCall(a, m)
}

// findCall returns the id of a model call; "last" is the newest of the run.
func findCall(ctx context.Context, c *client.Client, run uuid.UUID, call string) (id uuid.UUID, err error) {
	if call != "last" {
		if id, err = uuid.Parse(call); err != nil {
			return id, setup.NewUsageError(call+" is no id of a model call", `perdure show ID --json lists the tasks of a run; those of the kind `+perdure.ModelTaskKind+` are model calls. "last" is the newest`)
		}
		return id, nil
	}
	for t, err := range c.Tasks(ctx, run) {
		if err != nil {
			return id, err
		}
		if t.Kind == perdure.ModelTaskKind {
			id = t.ID
		}
	}
	if id == uuid.Nil {
		return id, perdure.Errorf(perdure.NotFound, "run %s has not called a model", run)
	}
	return id, nil
}

// writeCallRequest prints the body of the request that a provider's API would receive for the call.
// The parameter `as` is the name of the API. The body is printed unchanged, unless standard output
// is a terminal.
func writeCallRequest(ctx context.Context, a *setup.App, c *client.Client, run, call uuid.UUID, as string) error {
	body, err := c.ModelCallRequest(ctx, run, call, as)
	if err != nil {
		return err
	}
	raw, err := io.ReadAll(body)
	_ = body.Close() // the body was read to its end
	if err != nil {
		return &perdure.Error{Code: perdure.Unavailable, Message: "the server's answer broke off", Err: err}
	}
	return a.Stdout.WriteAnswer(string(raw))
}

func printCall(a *setup.App, m *client.ModelCall) error {
	if a.JSON {
		return a.Stdout.PrintJSON(m)
	}
	line := func(name, format string, values ...any) {
		_ = a.Stdout.Linef("%-14s %s", name, terminal.Inline(fmt.Sprintf(format, values...)))
	}
	line("call", "%s", m.TaskID)
	line("model", "%s/%s", m.Model.Provider, m.Model.ModelID)
	line("status", "%s, attempt %d", strings.ToLower(string(m.Status)), m.Attempt)
	if m.Error != nil {
		line("error", "%s: %s", m.Error.Code, m.Error.Message)
	}
	line("purpose", "%s", m.Purpose)
	line("prompt", "%s", promptText(m.Prompt))
	if u := m.Answer; u != nil && u.Usage != nil {
		line("usage", "%s", terminal.UsageText(*u.Usage))
		line("took", "%s", terminal.Duration(time.Duration(m.LatencyMs)*time.Millisecond))
		line("stop reason", "%s", u.StopReason)
	}
	for _, t := range m.Tools {
		line("tool", "%s  %s", t.Name, t.Description)
	}
	for _, l := range m.LeftOut {
		line("left out", "%d entries, by %s", l.Entries, l.Why)
	}
	if m.SystemPromptBytes > 0 {
		line("system prompt", "%s, not shown", terminal.Bytes(int64(m.SystemPromptBytes)))
	}
	if m.SystemPrompt != "" {
		_ = a.Stdout.Linef("\nsystem")
		_ = a.Stdout.Indented("  ", m.SystemPrompt)
	}
	for _, said := range m.Messages {
		_ = a.Stdout.Linef("\n%s", string(said.Role))
		_ = a.Stdout.Indented("  ", partsText(said))
	}
	return nil
}

// partsText returns a message of a model call as text. If the message has a part that is not text, it
// returns all parts as JSON.
func partsText(m client.CallMessage) string {
	var parts []perdure.Part
	if json.Unmarshal(m.Parts, &parts) != nil || string(m.Parts) == "null" {
		return "(" + terminal.Bytes(int64(m.Bytes)) + ", not shown)"
	}
	if slices.ContainsFunc(parts, func(p perdure.Part) bool { return p.Type != perdure.PartText }) {
		return string(m.Parts)
	}
	return perdure.Content{Parts: parts}.PlainText()
}

// promptText returns a remark on whether the prompt on the screen is exactly the one that the model
// received.
func promptText(p *perdure.CallPrompt) string {
	switch {
	case p == nil:
		return "no hash of it is stored"
	case p.Matches:
		return "sha256 " + p.SHA256 + ", as sent"
	}
	return "sha256 " + p.SHA256 + " was sent; what is shown has " + p.Shown + ", because the tools, the conversation or the program have changed since"
}
