//go:build !linux

package tool

import "errors"

// ControlGroups gives each command a control group, which this system has not.
type ControlGroups struct{}

// OpenControlGroups returns an error: there are no control groups here.
func OpenControlGroups() (*ControlGroups, error) {
	return nil, errors.New("control groups exist on Linux alone")
}

// Close does nothing.
func (*ControlGroups) Close() error { return nil }
