//go:build !linux

package connection

import "errors"

// hasDataSync reports whether the system has a call that syncs only data. It is false here: macOS
// has no such call, and other systems have not been measured.
const hasDataSync = false

func syncData(uintptr) error { return errors.ErrUnsupported }
