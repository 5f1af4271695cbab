package engine_test

import (
	"testing"

	"github.com/perdure/perdure/internal/engine/enginetest"
	"github.com/perdure/perdure/internal/store/opentest"
)

// The tests of this file run on every store.

// Whatever several workers and clients do, and however the clock jumps, the
// engine does what the model of the rules does.
func TestRandomCommandsFollowTheRules(t *testing.T) { opentest.Each(t, enginetest.Random) }
