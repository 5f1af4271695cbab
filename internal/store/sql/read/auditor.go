package read

import "github.com/perdure/perdure/internal/store/sql/read/base"

// Auditor checks the stored rows of executions, streams and deliveries.
type Auditor struct{ *base.Source }
