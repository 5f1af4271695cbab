package read

import (
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var blobBySum = statement.Read(load.BlobColumns + " AND sha256 = ? AND owned = 1 AND held = length LIMIT 1")
