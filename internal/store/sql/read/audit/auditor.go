// Package audit checks the stored rows of executions, streams and deliveries.
package audit

import "github.com/perdure/perdure/internal/store/sql/read/base"

// Auditor checks the stored rows of executions, streams and deliveries.
type Auditor struct{ *base.Source }
