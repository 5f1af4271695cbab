package perdure

// The most that one poll may name: each pair of a queue and a kind is a query of
// its own, in the one place where everything is written.
const (
	MaxPollQueues = 100
	MaxPollKinds  = 200
	MaxPollPairs  = 1000
	// MaxPollSlots is the most that one poll claims; of more slots it uses so many.
	MaxPollSlots = 1000
)

// Check refuses a poll that asks for nothing, or for too much at once. Error:
// invalid_argument, which names the limit.
func (p Poll) Check() error {
	if p.Slots <= 0 || len(p.Kinds) == 0 {
		return FieldErrorf("slots", "a poll needs a free slot and a kind")
	}
	return CheckPollSize(len(p.Queues), len(p.Kinds))
}

// CheckPollSize refuses so many queues and kinds together. Error: invalid_argument.
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
