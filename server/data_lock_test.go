package server

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// hold locks the data directory as if the process `pid` did, and returns the locked file.
func hold(t *testing.T, data string, pid int) *os.File {
	t.Helper()
	file, err := os.OpenFile(filepath.Join(data, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(strconv.Itoa(pid)); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestOwnWaitsForTheChildOfADeadOwner checks that the function `own` waits if the owner of the data
// directory is dead, but a child process of the owner still holds the lock for a moment.
func TestOwnWaitsForTheChildOfADeadOwner(t *testing.T) {
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		file := hold(t, data, dead.Process.Pid)
		go func() {
			time.Sleep(50 * time.Millisecond)
			file.Close()
		}()
		l, err := own(data)
		if err != nil {
			t.Fatal(err)
		}
		l.file.Close()
	})
}

// TestOwnRefusesADirectoryOfALiveOwnerAtOnce checks that the function `own` fails at once, without
// waiting for the lock, if the owner of the data directory is alive.
func TestOwnRefusesADirectoryOfALiveOwnerAtOnce(t *testing.T) {
	data := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		defer hold(t, data, os.Getpid()).Close()
		start := time.Now()
		var owned *OwnedError
		if _, err := own(data); !errors.As(err, &owned) || owned.PID != os.Getpid() {
			t.Errorf("it returns %v", err)
		}
		if waited := time.Since(start); waited > 0 {
			t.Errorf("it waits %s", waited)
		}
	})
}
