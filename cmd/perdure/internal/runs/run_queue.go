package runs

import (
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/lookup"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// chooseQueue sets the queue of the run. The queue determines which worker executes the run: one in
// this process, if the queue is private, or one of the server's workers.
func (r *RunCommand) chooseQueue(conn *connection.Conn, q *client.StartRequest) error {
	metadata, err := r.agent.MetadataJSON()
	if err != nil {
		return err
	}
	if conn.HasNoWorkers() {
		if r.detach {
			return setup.NewUsageError("there is no server to leave the run to", "start perdure dev, or leave --detach out")
		}
		if err := r.worker.CheckModels(q.Models); err != nil {
			return err
		}
		if err := r.agent.checkTools(); err != nil {
			return err
		}
		q.Queue = connection.PrivateQueue + uuid.NewString()
		metadata[workspaceMember] = r.worker.Workspace
	} else if q.Workspace, err = r.remoteWorkspace(conn); err != nil {
		return err
	}
	if _, given := metadata[lookup.TitleMember]; !given && !r.local { // the prompt of a LOCAL run stays on its worker
		if title := titleOf(q.UserPrompt); title != "" {
			metadata[lookup.TitleMember] = title
		}
	}
	if len(metadata) > 0 {
		q.Metadata = rawOf(metadata)
	}
	return nil
}

const (
	// workspaceMember is the name of the member in a run's metadata that has the run's workspace. Only runs
	// on a private queue have that member.
	workspaceMember = "workspaceRoot"
	// longestTitle is the maximum length of a title in characters.
	longestTitle = 120
)

// titleOf returns a title for a run: the beginning of its prompt, in one line.
func titleOf(prompt string) string {
	title := strings.Join(strings.Fields(terminal.Clean(prompt)), " ")
	if r := []rune(title); len(r) > longestTitle {
		title = strings.TrimSpace(string(r[:longestTitle-1])) + "…"
	}
	return title
}

// remoteWorkspace returns the run's workspace relative to the root of the server's worker.
func (r *RunCommand) remoteWorkspace(conn *connection.Conn) (string, error) {
	given := r.worker.Workspace
	if conn.Owner == nil || conn.Owner.Workspace == "" {
		if conn.Owner != nil && !r.agent.Given("workspace") {
			return "", nil
		}
		if conn.Owner == nil && filepath.IsAbs(given) {
			return "", setup.NewUsageError("--workspace "+given+" is absolute, but the folder is one of the server's workers", "give it relative to the workspace of that worker")
		}
		return given, nil
	}
	root := conn.Owner.Workspace
	rel, err := filepath.Rel(realPath(root), realPath(given))
	if err != nil || !filepath.IsLocal(rel) {
		return "", setup.NewUsageError(
			"the folder "+given+" is outside the workspace of the perdure dev that owns the data directory, "+root,
			"go there, start perdure dev in a folder that holds both, or give this run a data directory of its own with --data",
		)
	}
	return filepath.ToSlash(rel), nil
}

func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
