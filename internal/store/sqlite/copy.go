package sqlite

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"net/url"
)

// Copy writes a compact copy of the store to a new file, as of one moment and
// while others write. The copy has an epoch of its own, so that cursors of this
// store are told from the copy's.
func (s *Store) Copy(ctx context.Context, path string) error {
	if err := makeFile(path); err != nil {
		return err
	}
	c, err := openConn(ctx, dsn(s.path, url.Values{"mode": {"rw"}}))
	if err != nil {
		return refusal(err)
	}
	_, err = view{c, ctx}.exec("VACUUM INTO ?", path)
	if err = errors.Join(err, c.close()); err != nil {
		return refusal(err)
	}
	return RenewEpoch(ctx, path)
}

// RenewEpoch gives the store at path, which nobody has open, another epoch: for
// a file that was put back from a backup.
func RenewEpoch(ctx context.Context, path string) error {
	c, err := openConn(ctx, dsn(path, url.Values{"mode": {"rw"}, "_pragma": {"synchronous(full)"}}))
	if err != nil {
		return err
	}
	_, err = view{c, ctx}.exec("UPDATE store SET epoch = ? WHERE id = 1", randomEpoch())
	return errors.Join(err, c.close())
}

// randomEpoch is 64 random bits as SQLite stores them.
func randomEpoch() int64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return int64(binary.BigEndian.Uint64(b[:]))
}
