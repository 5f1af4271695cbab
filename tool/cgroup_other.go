//go:build !linux

package tool

import "errors"

// ControlGroups creates a control group for each command on Linux. On this system it does nothing.
type ControlGroups struct{}

// OpenControlGroups returns an error, because control groups exist only on Linux.
func OpenControlGroups() (*ControlGroups, error) {
	return nil, errors.New("control groups exist on Linux alone")
}

// Close does nothing.
func (*ControlGroups) Close() error { return nil }
