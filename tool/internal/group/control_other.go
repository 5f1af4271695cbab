//go:build !linux

package group

import "errors"

// ControlGroups does nothing on this system.
type ControlGroups struct{}

// Open returns an error, because control groups exist only on Linux.
func Open() (*ControlGroups, error) {
	return nil, errors.New("control groups exist on Linux alone")
}

// Close does nothing.
func (*ControlGroups) Close() error { return nil }
