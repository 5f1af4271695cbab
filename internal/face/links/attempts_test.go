package links

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestAttemptsAreForgotten checks that an address may try attemptsAtOnce invalid tokens, and then
// one more after each attemptPause. All IPv6 addresses of one network share their attempts.
func TestAttemptsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a attempts
		for range attemptsAtOnce {
			if wait := a.wait("203.0.113.1"); wait != 0 {
				t.Fatalf("an attempt must wait %s", wait)
			}
			a.count("203.0.113.1")
		}
		if wait := a.wait("::ffff:203.0.113.1"); wait != attemptPause {
			t.Errorf("one attempt too many must wait %s, want %s", wait, attemptPause)
		}
		if wait := a.wait("203.0.113.2"); wait != 0 {
			t.Errorf("another address must wait %s", wait)
		}
		time.Sleep(attemptPause)
		if wait := a.wait("203.0.113.1"); wait != 0 {
			t.Errorf("after the pause, an attempt must wait %s", wait)
		}
		a.count("203.0.113.1")
		if wait := a.wait("203.0.113.1"); wait != attemptPause {
			t.Errorf("the next one must wait %s, want %s", wait, attemptPause)
		}
		for i := range attemptsAtOnce {
			a.count(fmt.Sprintf("2001:db8::%d", i))
		}
		if a.wait("2001:db8::ffff") == 0 || a.wait("2001:db8:0:1::1") != 0 {
			t.Error("addresses of one network are not counted together, or those of two are")
		}
	})
}

// TestAddressesAreBounded checks that counting the attempts of many addresses takes a bounded
// amount of memory.
func TestAddressesAreBounded(t *testing.T) {
	var a attempts
	for i := range addressesKept + 10 {
		a.count(fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&0xff, i&0xff))
	}
	if len(a.until) > addressesKept {
		t.Errorf("%d addresses are kept", len(a.until))
	}
}
