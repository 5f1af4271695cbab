package perdure

// InterruptSignal is the name of the signal that stops the current turn of an execution. The react
// agent takes it. An agent of another kind takes it only if its workers have registered it as a
// signal of the kind. The value of the signal is an [Interrupt].
const InterruptSignal = "perdure.interrupt"

// MaxInterruptReason is the maximum length of Interrupt.Reason in bytes.
const MaxInterruptReason = 4 << 10

// Interrupt is the value of an InterruptSignal.
type Interrupt struct {
	// Reason says why the turn was stopped. The reason is recorded in the log.
	Reason string `json:"reason,omitempty"`
}

// Check refuses a reason over MaxInterruptReason. Errors: invalid_argument.
func (i Interrupt) Check() error {
	if n := len(i.Reason); n > MaxInterruptReason {
		return FieldErrorf("reason", "has %d bytes, and %d are allowed", n, MaxInterruptReason)
	}
	return CheckText("reason", i.Reason)
}
