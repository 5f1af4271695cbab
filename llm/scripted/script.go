package scripted

import (
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// script is a parsed file.
type script struct {
	pace  time.Duration
	turns []turn
}

// turn is played as its common steps and those of the alternative that fits.
type turn struct {
	line         int
	common       []step
	alternatives []alternative
}

type alternative struct {
	when  string // "" is else
	steps []step
}

// steps returns what to play when fresh is what has come since the last answer;
// false if no alternative fits.
func (t turn) steps(fresh string) ([]step, bool) {
	if len(t.alternatives) == 0 {
		return t.common, true
	}
	var otherwise *alternative
	for i, a := range t.alternatives {
		if a.when == "" {
			otherwise = &t.alternatives[i]
		} else if strings.Contains(fresh, a.when) {
			return concat(t.common, a.steps), true
		}
	}
	if otherwise == nil {
		return nil, false
	}
	return concat(t.common, otherwise.steps), true
}

func concat(a, b []step) []step { return append(append([]step(nil), a...), b...) }

// step is one line of a turn. word says which fields count.
type step struct {
	word     string
	text     string // text, thinking, expect; the arguments of a call; the message of a failure
	name     string // of the tool
	duration time.Duration
	stop     perdure.StopReason
	usage    perdure.Usage
	kind     llm.ErrorKind
}
