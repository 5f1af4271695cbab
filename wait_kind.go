package perdure

import (
	"strconv"
	"strings"
)

// WaitKind is the kind of a node of a [Wait]. The set of kinds is fixed: Check and Evaluate refuse
// any other kind with the error code "unsupported".
type WaitKind int

const (
	// WaitKindUnknown is the kind of a node without a known kind. The node is empty, or a newer program
	// created it.
	WaitKindUnknown  WaitKind = iota
	WaitKindAny               // met when one of the children is met
	WaitKindAll               // met when all of the children are met
	WaitKindSignal            // met by a pending signal
	WaitKindTask              // met by the end of a task
	WaitKindQuestion          // met by the decision about a question
	WaitKindTimer             // met at a time
	WaitKindAfter             // met after a duration; Wait.At replaces it by a timer
)

var waitKindNames = [...]string{"unknown", "any", "all", "signal", "task", "question", "timer", "after"}

// WaitKinds returns all known kinds.
func WaitKinds() []WaitKind {
	kinds := make([]WaitKind, 0, len(waitKindNames)-1)
	for k := range waitKindNames {
		if WaitKind(k) != WaitKindUnknown {
			kinds = append(kinds, WaitKind(k))
		}
	}
	return kinds
}

// String returns the name of the kind: for a known kind, the name of its field in JSON.
func (k WaitKind) String() string {
	if k < 0 || int(k) >= len(waitKindNames) {
		return "WaitKind(" + strconv.Itoa(int(k)) + ")"
	}
	return waitKindNames[k]
}

// in reports whether the field of w that belongs to the kind is set.
func (k WaitKind) in(w Wait) bool {
	switch k {
	case WaitKindAny:
		return w.Any != nil
	case WaitKindAll:
		return w.All != nil
	case WaitKindSignal:
		return w.Signal != ""
	case WaitKindTask:
		return w.Task != nil
	case WaitKindQuestion:
		return w.Question != nil
	case WaitKindTimer:
		return w.Timer != nil
	case WaitKindAfter:
		return w.After != 0
	case WaitKindUnknown:
	}
	return false
}

// Kind returns the kind of the node. A wait that [Wait.Check] accepts has exactly one kind.
func (w Wait) Kind() WaitKind {
	for k := range WaitKind(len(waitKindNames)) {
		if k.in(w) {
			return k
		}
	}
	return WaitKindUnknown
}

// kinds returns how many of the fields that determine the kind are set.
func (w Wait) kinds() int {
	n := 0
	for k := range WaitKind(len(waitKindNames)) {
		if k.in(w) {
			n++
		}
	}
	return n
}

// Leaf reports whether nodes of this kind have no children.
func (k WaitKind) Leaf() bool { return k != WaitKindAny && k != WaitKindAll }

// unsupportedWait returns the error for the node at the given path, whose kind this program does not
// know.
func unsupportedWait(at string) error {
	message := "has no kind that this program knows; known are " + knownWaitKinds() + ". Upgrade the program, or correct the wait"
	return &Error{Code: Unsupported, Message: at + ": " + message, Fields: []FieldError{{Location: at, Message: message}}}
}

// knownWaitKinds returns the names of all known kinds, for an error message.
func knownWaitKinds() string {
	names := waitKindNames[1:]
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// Evaluate reports whether the wait is met. It calls `leaf` for each childless node that it needs.
// It evaluates the children of a node in order, and stops as soon as the result is certain. A node
// with Any is met by one child, even if this program does not know the kind of another child.
// Errors: unsupported (a kind that this program does not know), those of `leaf`.
func (w Wait) Evaluate(leaf func(Wait) (bool, error)) (bool, error) {
	return w.decide(func(child Wait) (bool, error) { return child.Evaluate(leaf) }, leaf)
}

// decide reports whether one node is met. It calls `child` for the children of a node with Any or
// All, and `leaf` for a node without children.
func (w Wait) decide(child, leaf func(Wait) (bool, error)) (bool, error) {
	switch w.Kind() {
	case WaitKindAny:
		var unknown error
		for _, c := range w.Any {
			met, err := child(c)
			if met || err != nil && !IsCode(err, Unsupported) {
				return met, err
			}
			if err != nil {
				unknown = err
			}
		}
		return false, unknown
	case WaitKindAll:
		for _, c := range w.All {
			if met, err := child(c); !met || err != nil {
				return false, err
			}
		}
		return true, nil
	case WaitKindSignal, WaitKindTask, WaitKindQuestion, WaitKindTimer, WaitKindAfter:
		return leaf(w)
	default:
		return false, unsupportedWait("wait")
	}
}

// metBy reports whether the facts meet w, a wait without children.
func (w Wait) metBy(facts Facts) bool {
	switch w.Kind() {
	case WaitKindSignal:
		return facts.SignalPending(w.Signal)
	case WaitKindTask:
		return w.On.meets(facts.TaskStatus(*w.Task))
	case WaitKindQuestion:
		return facts.QuestionFinal(*w.Question)
	case WaitKindTimer:
		return w.Timer.Reached(facts.Now())
	case WaitKindAfter: // its due time is not set yet
	case WaitKindAny, WaitKindAll, WaitKindUnknown:
	}
	return false
}
