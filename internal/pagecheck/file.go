package pagecheck

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"
)

// Snapshot is the state of a database file at one time. It is valid during the call of the function
// that has received it.
type Snapshot interface {
	// Page returns the content of a page; the first page has the number 1. The returned bytes do
	// not change.
	Page(number uint32) ([]byte, error)
	// Roots returns the root pages of tables and indexes.
	Roots() ([]uint32, error)
	// Quick runs PRAGMA quick_check(1) and returns its output.
	Quick() (string, error)
}

// File is a database file to check.
type File struct {
	// Read calls f with a snapshot, in a transaction that ends when f returns.
	Read func(ctx context.Context, f func(s Snapshot) error) error
	// Pause, if set, is called between two pieces of the check. `took` is the duration of the last
	// piece. An error of Pause ends the check.
	Pause func(ctx context.Context, took time.Duration) error
	// Progress, if set, is called with the number of checked pages and the number of all pages.
	Progress func(pages, of uint32)
}

// Damage is an error that describes the damage of a page.
type Damage struct {
	Page uint32 // 0 for the whole file
	What string
}

// Error implements error.
func (d *Damage) Error() string {
	if d.Page == 0 {
		return d.What
	}
	return fmt.Sprintf("page %d: %s", d.Page, d.What)
}

// lastPages is the number of pages at the end of the file that Start checks.
const lastPages = 64

// Start checks the header, the root pages of tables and indexes, and the last pages of the file.
// The number of pages that it reads does not depend on the size of the file. The error is a
// [*Damage] or a read error.
func (f *File) Start(ctx context.Context) error {
	return f.Read(ctx, func(s Snapshot) error {
		c, err := open(s)
		if err != nil || c.count == 0 {
			return err
		}
		roots, err := s.Roots()
		if err != nil {
			return err
		}
		for _, root := range roots {
			if err := c.tree(root, 0, false); err != nil {
				return err
			}
		}
		if !c.mapped {
			return nil
		}
		return c.pages(c.count-min(c.count, lastPages)+1, c.count, false)
	})
}

// Whole checks every page. A file without a pointer map is checked by PRAGMA quick_check in one
// piece. The error is a [*Damage], a read error, or the error of the context or of Pause.
func (f *File) Whole(ctx context.Context) error {
	for from, count := uint32(1), uint32(1); from <= count; {
		began := time.Now()
		err := f.Read(ctx, func(s Snapshot) error {
			c, err := open(s)
			if err != nil {
				return err
			}
			if count = c.count; count == 0 {
				return nil
			}
			if !c.mapped {
				from = count + 1
				return quick(s)
			}
			last := min(count, c.groupEnd(from))
			if err := c.pages(from, last, true); err != nil {
				return err
			}
			from = last + 1
			return nil
		})
		if err != nil {
			return err
		}
		if f.Progress != nil {
			f.Progress(from-1, count)
		}
		if f.Pause != nil && from <= count {
			if err := f.Pause(ctx, time.Since(began)); err != nil {
				return err
			}
		}
	}
	return nil
}

func quick(s Snapshot) error {
	verdict, err := s.Quick()
	if err == nil && verdict != "ok" {
		return &Damage{What: verdict}
	}
	return err
}

const magic = "SQLite format 3\x00"

// open reads the header of the file and returns a checker. For an empty file, the checker's count
// of pages is 0.
func open(s Snapshot) (*checker, error) {
	first, err := s.Page(1)
	if err != nil || len(first) == 0 {
		return &checker{}, err
	}
	c := &checker{snapshot: s, size: len(first), kept: map[uint32][]byte{1: first}, families: map[uint32]*family{}}
	if len(first) < 512 || string(first[:len(magic)]) != magic {
		return nil, &Damage{1, "it does not begin like a SQLite file"}
	}
	stored := int(binary.BigEndian.Uint16(first[16:]))
	if stored == 1 {
		stored = 1 << 16
	}
	c.usable = c.size - int(first[20])
	if stored != c.size || c.usable < 480 || string(first[21:24]) != "\x40\x20\x20" {
		return nil, &Damage{1, "its header is wrong"}
	}
	c.count = binary.BigEndian.Uint32(first[28:])
	c.mapped = binary.BigEndian.Uint32(first[52:]) != 0
	return c, nil
}
