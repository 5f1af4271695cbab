package tool

import "github.com/perdure/perdure/tool/internal/group"

// ControlGroups creates a control group (cgroup v2) for each command on Linux, in which the kernel limits
// the memory and processes of the command. A nil *ControlGroups creates none. ControlGroups is safe for
// concurrent use.
type ControlGroups struct{ groups *group.ControlGroups }

// OpenControlGroups prepares the control group of this process for groups of commands below it.
// This process must be the only one in its control group, and the group must be delegated to it.
// OpenControlGroups moves the process into a new group below the old one, enables the controllers,
// and removes groups that an earlier process has left. The error says why commands cannot have
// control groups here.
func OpenControlGroups() (*ControlGroups, error) {
	groups, err := group.Open()
	if err != nil {
		return nil, err
	}
	return &ControlGroups{groups}, nil
}

// Close removes the remaining groups of commands, and moves this process back into the control group in
// which it was started. No command may be running.
func (g *ControlGroups) Close() error { return g.opened().Close() }

// opened returns the groups of g, or nil if g is nil.
func (g *ControlGroups) opened() *group.ControlGroups {
	if g == nil {
		return nil
	}
	return g.groups
}
