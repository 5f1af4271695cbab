package sqlite

import (
	"errors"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/internal/sqlitelog"
	"github.com/perdure/perdure/internal/store/sqlite/connection"
)

// settleLog syncs the existing content of the write-ahead log to the disk. It must be called before
// anything is written to the store.
func settleLog(path string, reserve *disk.Reserve) error {
	err := sqlitelog.Start(path, reserve)
	var full *sqlitelog.FullError
	switch {
	case errors.As(err, &full):
		return &perdure.Error{Code: perdure.Unavailable, Message: full.Error(), Err: full.Unwrap()}
	case connection.IsBusy(err):
		return connection.Unavailable(err, "the write-ahead log cannot be folded into the file while another process reads or writes it; end that process")
	}
	return damaged(path, err)
}

// reserveEnd is the end of the name of the file that reserves disk space. The name begins with that
// of the database file.
const reserveEnd = ".reserve"

// openReserve returns the reserve of disk space of a store; nil if it has none.
func openReserve(o Options) (*disk.Reserve, error) {
	if !o.Reserve {
		return nil, nil
	}
	return disk.NewReserve(o.Path + reserveEnd)
}
