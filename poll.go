package perdure

// MaxPollQueues and the constants below it limit one poll. A poll needs one query for each pair of
// a queue and a kind, and all these queries run in the store's single writer.
const (
	MaxPollQueues = 100
	MaxPollKinds  = 200
	MaxPollPairs  = 1000
	// MaxPollSlots is the maximum number of claims per poll. A poll with more slots is treated as a
	// poll with MaxPollSlots.
	MaxPollSlots = 1000
)

// Check refuses a poll without slots or kinds, and a poll over the limits. Errors:
// invalid_argument.
func (p Poll) Check() error {
	if p.Slots <= 0 || len(p.Kinds) == 0 {
		return FieldErrorf("slots", "a poll needs a free slot and a kind")
	}
	return CheckPollSize(len(p.Queues), len(p.Kinds))
}

// CheckPollSize returns an error if a poll has too many queues or kinds. Errors: invalid_argument.
func CheckPollSize(queues, kinds int) error {
	switch {
	case queues > MaxPollQueues:
		return FieldErrorf("queues", "are %d; a worker takes work from %d at most", queues, MaxPollQueues)
	case kinds > MaxPollKinds:
		return FieldErrorf("kinds", "are %d; a worker runs %d at most", kinds, MaxPollKinds)
	case queues*kinds > MaxPollPairs:
		return FieldErrorf("kinds", "%d of them on %d queues are %d pairs; a worker has %d at most: let several workers share them", kinds, queues, queues*kinds, MaxPollPairs)
	}
	return nil
}
