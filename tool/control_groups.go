package tool

import "github.com/perdure/perdure/tool/internal/group"

// ControlGroups creates a control group (cgroup v2) for each command on Linux, which limits the
// command's memory and processes. A nil *ControlGroups creates none. ControlGroups is safe for
// concurrent use.
type ControlGroups struct{ groups *group.ControlGroups }

// OpenControlGroups divides the control group of this process. The control group must be delegated
// to this process, and this process must be the only one in it. OpenControlGroups moves the process
// into a new group below, enables the controllers, and removes groups that an earlier process left.
// The error says why commands cannot have control groups here.
func OpenControlGroups() (*ControlGroups, error) {
	groups, err := group.Open()
	if err != nil {
		return nil, err
	}
	return &ControlGroups{groups}, nil
}

// Close removes the remaining groups of commands and moves this process back into its original
// group. No command may be running.
func (g *ControlGroups) Close() error { return g.opened().Close() }

// opened returns the groups of g, or nil if g is nil.
func (g *ControlGroups) opened() *group.ControlGroups {
	if g == nil {
		return nil
	}
	return g.groups
}
