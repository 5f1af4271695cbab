//go:build !linux

package connection

import "errors"

// hasDataSync is false: macOS has no such call, and other systems have not been measured.
const hasDataSync = false

func syncData(uintptr) error { return errors.ErrUnsupported }
