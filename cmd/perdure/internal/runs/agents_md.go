package runs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/tool"
)

const (
	// agentsFile is the file of a workspace with instructions for agents.
	agentsFile = "AGENTS.md"
	// maxAgentsFile is the maximum size of an agentsFile in bytes.
	maxAgentsFile = 64 << 10
)

// readAgentsFile returns the instructions in the workspace; "" if there are none. It refuses a
// symbolic link that leads out of the workspace. Error: UsageError.
func readAgentsFile(workspace string) (string, error) {
	refuse := func(why string) (string, error) {
		return "", setup.NewUsageError(agentsFile+" of the workspace "+why, "change the file, or leave it out with --no-agents-md")
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return refuse("cannot be read: " + err.Error())
	}
	defer root.Close()
	info, err := root.Stat(agentsFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return refuse("cannot be read: " + err.Error())
	case !info.Mode().IsRegular():
		return refuse("is no file")
	}
	f, err := root.Open(agentsFile)
	if err != nil {
		return refuse("cannot be read: " + err.Error())
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxAgentsFile+1))
	switch {
	case err != nil:
		return refuse("cannot be read: " + err.Error())
	case len(raw) > maxAgentsFile:
		return refuse("has over 64 KiB")
	case perdure.CheckText(agentsFile, string(raw)) != nil:
		return refuse("is no UTF-8 text")
	}
	return strings.TrimSpace(string(raw)), nil
}

// planText is the part of the system prompt of a run with --plan.
const planText = "Work out a plan and do not carry it out: you have only tools that change nothing. Answer with the plan."

// instructions returns the system prompt with the texts that the flags add to it. The parameter
// `here` is set if the workspace is a folder of this machine that the command knows.
func (r *RunCommand) instructions(system string, here bool) (string, error) {
	parts := []string{system}
	if !r.noAgentsFile && here {
		text, err := readAgentsFile(r.worker.Workspace)
		if err != nil {
			return "", err
		}
		if text != "" {
			parts = append(parts, "The workspace has these instructions in its file "+agentsFile+":\n\n"+text)
			if !r.Quiet && !r.JSON {
				_ = r.Stderr.Linef("perdure: %s is part of the system prompt (--no-agents-md leaves it out)", agentsFile)
			}
		}
	}
	if r.plan {
		parts = append(parts, planText)
	}
	var all []string
	for _, part := range parts {
		if part != "" {
			all = append(all, part)
		}
	}
	return strings.Join(all, "\n\n"), nil
}

// planTools returns the tools that change nothing.
func planTools(names []string) []string {
	kept := []string{}
	known := tool.Builtin()
	for _, name := range names {
		for _, t := range known {
			if t.Name == name && t.ReadOnly {
				kept = append(kept, name)
			}
		}
	}
	return kept
}

// reportLeftOut says which of the tools that --tools or a definition names are left out because of --plan.
func (r *RunCommand) reportLeftOut(names, kept []string) {
	left := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(kept, name) })
	if len(left) == 0 {
		return
	}
	rest := "the model may use " + strings.Join(kept, ", ")
	if len(kept) == 0 {
		rest = "the model has no tools"
	}
	_ = r.Stderr.Linef("perdure: --plan leaves out %s, which may change things; %s", strings.Join(left, ", "), rest)
}

// instruct sets the system prompt and the tools of the request as the flags say. d is the definition
// of the run, nil if there is none.
func (r *RunCommand) instruct(conn *connection.Conn, q *client.StartRequest, d *perdure.Definition) error {
	here := conn.HasNoWorkers() || conn.Owner != nil && conn.Owner.Workspace != ""
	system := ""
	switch {
	case q.SystemPrompt != nil:
		system = *q.SystemPrompt
	case d != nil:
		system = d.SystemPrompt
	}
	text, err := r.instructions(system, here)
	if err != nil {
		return err
	}
	if text != system {
		q.SystemPrompt = &text
	}
	if !r.plan {
		return nil
	}
	names := q.Tools
	if names == nil && d != nil {
		names = &d.Tools
	}
	if names != nil {
		kept := planTools(*names)
		if d != nil || r.agent.Given("tools") {
			r.reportLeftOut(*names, kept)
		}
		q.Tools = &kept
	}
	return nil
}
