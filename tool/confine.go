package tool

import (
	"github.com/perdure/perdure/tool/internal/confine"
	"github.com/perdure/perdure/tool/internal/group"
)

// MaybeSandboxChild lets bash use Landlock and the system call filter on Linux. Call it at the
// start of main and of TestMain. To run a command, bash starts this program a second time as a
// child, which confines itself and then becomes the command. The child does so while packages are
// initialized, before main runs; MaybeSandboxChild itself only records that this program can be
// started as a child.
func MaybeSandboxChild() { confine.Ready.Store(true) }

// confinement returns the best confinement of commands that works on this machine.
func (w *Workspace) confinement(o WorkspaceOptions) confine.Confinement {
	return confine.Choose(confine.Options{
		Dir: w.dir, Unconfined: o.Unconfined || o.Confine == ConfineOff, OwnSockets: o.Sockets == SocketsOwn, Net: o.Net.level(),
		Limits: group.Limits(o.Limits), Groups: o.Groups.opened(), Data: w.data, Secrets: w.secrets, Scratch: o.Scratch.opened(),
	})
}
