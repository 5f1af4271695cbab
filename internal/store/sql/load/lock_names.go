package load

import (
	"github.com/google/uuid"
)

func HeldWorker(id uuid.UUID) string { return "worker " + id.String() }

func HeldKey(org, key string) string { return "key " + org + "\x00" + key }

func HeldQueue(org, queue string) string { return "queue " + org + "\x00" + queue }
