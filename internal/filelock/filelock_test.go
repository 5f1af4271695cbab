package filelock

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

var errHeld = errors.New("held")

func isHeld(err error) bool { return errors.Is(err, errHeld) }

func TestTakeWaitsForALockThatIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		err := Take(func() error {
			if attempts++; attempts < 5 {
				return errHeld
			}
			return nil
		}, isHeld)
		if err != nil || attempts != 5 {
			t.Errorf("after %d attempts: %v", attempts, err)
		}
	})
}

func TestTakeReturnsTheErrorOfALockThatIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := Take(func() error { return errHeld }, isHeld); !isHeld(err) {
			t.Errorf("it returns %v", err)
		}
		if waited := time.Since(start); waited < patience || waited > patience+pause {
			t.Errorf("it waits %s", waited)
		}
	})
}

func TestTakeReturnsOtherErrorsAtOnce(t *testing.T) {
	other, attempts := errors.New("other"), 0
	if err := Take(func() error { attempts++; return other }, isHeld); !errors.Is(err, other) || attempts != 1 {
		t.Errorf("after %d attempts: %v", attempts, err)
	}
}
