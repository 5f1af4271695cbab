package durable

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/durablestream"
	"github.com/perdure/perdure/internal/face/record"
	eventlog "github.com/perdure/perdure/internal/log"
)

// executionLog serves the log of an execution as a durable stream of JSON messages. The stream ends
// at `head`, the end of the log when the request began. An offset of the stream is a pos of the
// log, padded with zeros so that offsets sort as strings.
type executionLog struct {
	*server
	execution uuid.UUID
	head      perdure.Cursor
}

const (
	// digits is the number of digits of an offset.
	digits = 20
	// pageRecords is the largest number of records in one response.
	pageRecords = 1000
)

func (d *executionLog) ContentType() string { return "application/json" }

// Tag returns the part of an ETag that identifies the log. It changes when the store is restored
// from a backup, because the log may then have other records at the same positions.
func (d *executionLog) Tag() string { return fmt.Sprintf("%s:%x", d.execution, d.head.Epoch) }

func (d *executionLog) Offset(at int64) string { return fmt.Sprintf("%0*d", digits, at) }

// Parse parses an offset. For an offset past the end of the log, it returns an error with status
// 410: the records at this offset were lost when the store was restored.
func (d *executionLog) Parse(offset string) (int64, error) {
	at, err := strconv.ParseInt(offset, 10, 64)
	switch {
	case err != nil || len(offset) != digits || at < 0:
		return 0, durablestream.BadOffset()
	case at > d.head.Pos:
		return 0, durablestream.Gone("the log does not reach to this offset: it was given before the store was restored")
	}
	return at, nil
}

func (d *executionLog) End(ctx context.Context) (durablestream.Page, error) {
	return d.page(ctx, eventlog.Page{Next: d.head, UpToDate: true})
}

func (d *executionLog) Page(ctx context.Context, at int64) (durablestream.Page, error) {
	from, err := d.cursor(ctx, at)
	if err != nil {
		return durablestream.Page{}, err
	}
	p, err := d.Log.Page(ctx, d.execution, from.String(), pageRecords)
	if err != nil {
		return durablestream.Page{}, err
	}
	if p.Reset != nil && at > 0 {
		return durablestream.Page{}, durablestream.Gone("what follows this offset is no longer kept")
	}
	return d.page(ctx, p)
}

// cursor returns the log's cursor at a position. An offset has no nonce, so it does not identify
// the history of the store to which the record at the position belongs.
func (d *executionLog) cursor(ctx context.Context, at int64) (perdure.Cursor, error) {
	if at == d.head.Pos {
		return d.head, nil
	}
	return d.Log.CursorAt(ctx, d.execution, at)
}

// Check implements [durablestream.Source].
func (d *executionLog) Check(ctx context.Context, at int64) (uint64, error) {
	c, err := d.cursor(ctx, at)
	return checkOf(c), err
}

// checkOf returns a number that identifies the record before the cursor, in one history of the
// store. After a restore from a backup, the record at the same position has another number. The
// number is derived from the epoch and the nonce.
func checkOf(c perdure.Cursor) uint64 { return max(perdure.EpochOf(c.Epoch, uint64(c.Nonce)), 1) }

func (d *executionLog) page(ctx context.Context, p eventlog.Page) (durablestream.Page, error) {
	out := durablestream.Page{Empty: len(p.Items) == 0, Next: p.Next.Pos, Check: checkOf(p.Next), UpToDate: p.UpToDate}
	var err error
	if out.Content, err = arrayOf(p.Items); err == nil {
		out.Mark = markOf(out.Content, out.Check)
	}
	if err == nil && p.UpToDate {
		out.Closed, err = d.Log.AtEnd(ctx, d.execution, eventlog.From{Cursor: p.Next.String()})
	}
	return out, err
}

// markOf returns a hash of a page's content and of `check`, the number that checkOf returns for the
// end of the page. Both are needed. The content between two positions can change: a superseded
// block loses its text, and old records are pruned. And after a restore, other records can have the
// same positions.
func markOf(content []byte, check uint64) string {
	h := sha256.New()
	h.Write(content)
	h.Write(binary.BigEndian.AppendUint64(nil, check))
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// arrayOf encodes records of a log as a JSON array.
func arrayOf(items []eventlog.Item) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('[')
	for n, i := range items {
		if n > 0 {
			b.WriteByte(',')
		}
		raw, err := record.JSON(record.Of(i))
		if err != nil {
			return nil, err
		}
		b.Write(raw)
	}
	b.WriteByte(']')
	return b.Bytes(), nil
}

func (d *executionLog) Await(ctx context.Context, at int64, idle func() error) error {
	from, err := d.cursor(ctx, at)
	if err != nil {
		return err
	}
	for item, err := range d.Log.Tail(ctx, d.execution, eventlog.From{Cursor: from.String()}) {
		if err != nil {
			return err
		}
		if item.Event != "" {
			return nil
		}
		if err := idle(); err != nil {
			return err
		}
	}
	return nil
}
