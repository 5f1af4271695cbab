package rules

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// interruptDone returns the reply to an interrupt that needs no new signal, because there is no
// turn to stop, or another interrupt is pending. Otherwise it returns nil.
func interruptDone(s *store.State, r NewSignal) *SignalReply {
	reply := r.reply(s.Execution.Status, "")
	stopped := false
	if hasTurn(s.Execution) {
		i := pendingInterrupt(s)
		if i < 0 {
			return nil
		}
		stopped, reply.SignalID = true, s.Pending[i].ID
	}
	reply.Stopped = &stopped
	return &reply
}

func pendingInterrupt(s *store.State) int {
	for i := range s.Pending {
		if s.Pending[i].Name == perdure.InterruptSignal {
			return i
		}
	}
	return -1
}

// hasTurn reports whether the execution may be in a turn. An execution that has ended, is being
// cancelled, or waits only for signals and timers is in no turn.
func hasTurn(x *perdure.Execution) bool {
	switch {
	case x.Status.Terminal() || x.Status == perdure.StatusCancelling:
		return false
	case x.Status == perdure.StatusWaiting:
		return x.WaitReason != perdure.WaitKindSignal.String() && x.WaitReason != perdure.WaitKindTimer.String()
	}
	return true
}
