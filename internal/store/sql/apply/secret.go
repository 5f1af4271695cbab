package apply

import (
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var insertSecret = statement.Insert("store_secret", "name, value, created_at", statement.IgnoringOn("name"))

func putSecret(v statement.View, s *store.Secret) error {
	return v.Write(insertSecret, s.Name, s.Value, column.Millis(s.CreatedAt))
}
