package server

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/internal/filelock"
)

// OwnedError reports that another live process owns the data directory. Commands can connect to
// that process over the Unix socket at Socket.
type OwnedError struct {
	Data, Socket string
	PID          int // 0 if it could not be read
}

func (e *OwnedError) Error() string {
	return fmt.Sprintf("the data directory %s is in use by process %d", e.Data, e.PID)
}

// lock is the ownership of a data directory: a lock on a file in the directory. The system releases
// the lock on the file when the process dies.
type lock struct{ file *os.File }

func own(data string) (*lock, error) {
	path := filepath.Join(data, "lock")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, &perdure.Error{Code: perdure.InvalidArgument, Message: "cannot write in the data directory " + data, Err: err}
	}
	take := func() error { return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
	held := func(err error) bool { return errors.Is(err, syscall.EWOULDBLOCK) }
	if err := filelock.Take(take, func(err error) bool { return held(err) && !alive(readPID(path)) }); err != nil {
		defer file.Close()
		if !held(err) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		return nil, &OwnedError{Data: data, Socket: filepath.Join(data, "perdure.sock"), PID: readPID(path)}
	}
	l := &lock{file: file}
	l.write()
	return l, nil
}

// alive reports whether the process with the id exists. It returns true for the id 0, which means
// that the owner has not written its id yet.
func alive(pid int) bool { return pid == 0 || syscall.Kill(pid, 0) != syscall.ESRCH }

// isOwned reports whether a live process owns a data directory. It holds no lock after it returns.
func isOwned(data string) bool {
	file, err := os.Open(filepath.Join(data, "lock"))
	if err != nil {
		return false
	}
	defer file.Close()
	return syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == syscall.EWOULDBLOCK
}

// write stores the owner's process id in the lock file, for people and for OwnedError. Errors are
// ignored: a server must start on a full disk, so that it can free space.
func (l *lock) write() {
	if l.file.Truncate(0) == nil {
		_, _ = l.file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
}

func readPID(path string) int {
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(raw)))
	return pid
}

func (l *lock) release() error { return l.file.Close() }

// TokenFile returns the path of the file with the token of a data directory.
func TokenFile(data string) string { return filepath.Join(data, "token") }

// newToken returns the data directory's token and creates it at the first start. The token does not
// change, so that browser sessions survive a restart.
func newToken(data string) (string, error) {
	path := TokenFile(data)
	if raw, err := os.ReadFile(path); err == nil && len(raw) >= 32 {
		return strings.TrimSpace(string(raw)), nil
	}
	secret := make([]byte, 24)
	if _, err := rand.Read(secret); err != nil {
		return "", err
	}
	token := base64.RawURLEncoding.EncodeToString(secret)
	return token, disk.WriteFile(path, []byte(token+"\n"))
}
