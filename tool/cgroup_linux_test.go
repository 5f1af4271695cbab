package tool

import (
	"os"
	"testing"

	"github.com/perdure/perdure/tool/internal/confine"
	"github.com/perdure/perdure/tool/internal/group"
)

// TestWatcherTakesOver checks that a command still runs if its control group does not work. An
// event of the run then says that the watcher in the worker enforces the limits of the command.
func TestWatcherTakesOver(t *testing.T) {
	for name, l := range map[string]Limits{
		"no files":     {},                          // a folder without the files for limits
		"not a cgroup": {Processes: -1, Memory: -1}, // no limit is written; the start fails
	} {
		dir, data := layout(t, "data")
		groups := t.TempDir()
		w := openDir(t, dir, WorkspaceOptions{DataDir: data, Scratch: openScratch(t), Groups: &ControlGroups{&group.ControlGroups{Dir: groups}}, Limits: l})
		w.ForRun(name)
		var last Event
		call := callOf(t, w, args{"command": "echo fine"})
		call.Emit = func(data any) { last = data.(Event) }
		wantOK(t, run(t, "bash", call), "fine")
		if last.Type != "tool.confined" || last.Limits != confine.BoundByWatcher {
			t.Errorf("%s: the event is %+v", name, last)
		}
		if left, _ := os.ReadDir(groups); len(left) > 0 {
			t.Errorf("%s: %d groups are left", name, len(left))
		}
	}
}
