package audit

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// unsoundDeliveries selects deliveries whose columns contradict each other. Such a delivery is
// pending without a time for its next attempt, has ended but has such a time, or belongs to a
// webhook of another org. A delivery without a webhook is valid: its event was committed while the
// webhook was being deleted.
var unsoundDeliveries = statement.Alone("SELECT d.webhook_id, d.id FROM delivery d LEFT JOIN webhook w ON w.id = d.webhook_id" +
	" WHERE (d.status = 'pending') <> (d.due_at IS NOT NULL) OR (d.status = 'pending') <> (d.ended_at IS NULL) OR w.org_id <> d.org_id LIMIT 1")

// soundDeliveries returns an error if unsoundDeliveries selects a delivery.
func soundDeliveries(v statement.View) error {
	return v.Each(unsoundDeliveries, nil, func(row func(...any) error) error {
		var webhook, id uuid.UUID
		if err := row(&webhook, &id); err != nil {
			return err
		}
		return fmt.Errorf("the delivery %s of the webhook %s has times or an org that do not fit its status or webhook", id, webhook)
	})
}
