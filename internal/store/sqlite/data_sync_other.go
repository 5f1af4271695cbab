//go:build !linux

package sqlite

import "errors"

// hasDataSync is false: macOS has no such call, and others are not measured.
const hasDataSync = false

func syncData(uintptr) error { return errors.ErrUnsupported }
