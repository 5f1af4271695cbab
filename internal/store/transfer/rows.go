package transfer

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/schema"
)

// A batch of rows is one transaction. It ends at the first of these limits. Only one batch is in
// memory at a time.
const (
	batchRows  = 10_000
	batchBytes = 4 << 20
)

// progress is the progress of the copy of a table, as the target stores it.
type progress struct {
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
	Key   []part `json:"key"`
}

// part is one column of a row's key. Exactly one of its fields is set.
type part struct {
	Number *int64  `json:"n,omitempty"`
	Text   *string `json:"t,omitempty"`
	Bytes  []byte  `json:"b,omitempty"`
}

func partOf(v any) part {
	switch v := v.(type) {
	case int64:
		return part{Number: &v}
	case string:
		return part{Text: &v}
	case []byte:
		return part{Bytes: v}
	}
	return part{}
}

func (p part) value() any {
	switch {
	case p.Number != nil:
		return *p.Number
	case p.Text != nil:
		return *p.Text
	}
	return append([]byte{}, p.Bytes...) // never nil, because an empty value is not NULL
}

// batch contains rows that are inserted together.
type batch struct {
	rows  [][]any
	bytes int64
}

// copyTable copies the rows of a table that were not copied before an interruption.
func (c *copier) copyTable(ctx context.Context, t schema.Table) error {
	var p progress
	note, err := c.target.Progress(ctx, t.Name)
	if err != nil {
		return err
	}
	if note != "" {
		if err := json.Unmarshal([]byte(note), &p); err != nil {
			return err
		}
	}
	var after []any
	for _, part := range p.Key {
		after = append(after, part.value())
	}
	var b batch
	put := func() error {
		if len(b.rows) == 0 {
			return nil
		}
		p.add(t, &b)
		note, err := json.Marshal(p)
		if err != nil {
			return err
		}
		if err := c.target.Put(ctx, t, b.rows, string(note)); err != nil {
			return err
		}
		b = batch{}
		c.Told(Progress{Step: StepCopy, Table: t.Name, Rows: p.Rows, Bytes: p.Bytes})
		return nil
	}
	err = c.source.Rows(ctx, t, after, func(row []any) error {
		if _, err := mend(t, row); err != nil {
			return err
		}
		b.rows = append(b.rows, slices.Clone(row))
		b.bytes += size(row)
		if len(b.rows) < batchRows && b.bytes < batchBytes {
			return nil
		}
		return put()
	})
	if err == nil {
		err = put()
	}
	if err != nil {
		return fmt.Errorf("copy %s: %w", t.Name, err)
	}
	c.Told(Progress{Step: StepCopy, Table: t.Name, Rows: p.Rows, Bytes: p.Bytes, Done: true})
	return nil
}

// add records that a batch was copied. The copy continues after the key of the batch's last row.
func (p *progress) add(t schema.Table, b *batch) {
	p.Rows += int64(len(b.rows))
	p.Bytes += b.bytes
	p.Key = nil
	last := b.rows[len(b.rows)-1]
	for _, column := range t.Key {
		p.Key = append(p.Key, partOf(last[slices.Index(t.Columns, column)]))
	}
}

func size(row []any) (n int64) {
	for _, v := range row {
		switch v := v.(type) {
		case string:
			n += int64(len(v))
		case []byte:
			n += int64(len(v))
		default:
			n += 8
		}
	}
	return n
}

// free contains the names of the JSON columns in which older servers accepted any bytes. Changing
// their texts is safe, because no query searches these columns.
var free = map[string]bool{"fields": true, "metadata": true, "error": true, "input_schema": true}

// mend replaces each character that PostgreSQL cannot store by U+FFFD, in the columns of the map
// `free`. It returns the number of changed texts. If another column contains such a text, the error
// names the table, the row and the column.
func mend(t schema.Table, row []any) (mended int64, err error) {
	for i, v := range row {
		s, ok := v.(string)
		if !ok || utf8.ValidString(s) && !strings.ContainsRune(s, 0) {
			continue
		}
		if !free[t.Columns[i]] {
			return 0, unfit(t, row, t.Columns[i])
		}
		row[i] = perdure.ValidText(s)
		mended++
	}
	return mended, nil
}

func unfit(t schema.Table, row []any, name string) error {
	var key []string
	for _, column := range t.Key {
		v := row[slices.Index(t.Columns, column)]
		if b, ok := v.([]byte); ok {
			v = fmt.Sprintf("%x", b)
		}
		key = append(key, fmt.Sprintf("%s %v", column, v))
	}
	return perdure.Errorf(perdure.InvalidArgument, "the row of %s with %s has a zero byte, or bytes that are no UTF-8, in %s, which PostgreSQL cannot hold",
		t.Name, strings.Join(key, ", "), name)
}

// compare reads a whole table of the source and of the target. It checks that the rows are equal,
// apart from the texts that the function mend has changed.
func (c *copier) compare(ctx context.Context, there, here schema.Table) (Count, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		wg          sync.WaitGroup
		left, right sum
		mended      int64
		err         error
	)
	wg.Go(func() {
		if err := c.target.Rows(ctx, there, func(row []any) error { right.add(row); return nil }); err != nil {
			cancel(fmt.Errorf("read %s in the target: %w", there.Name, err))
		}
	})
	err = c.source.Rows(ctx, here, nil, func(row []any) error {
		n, err := mend(here, row)
		if err != nil {
			return err
		}
		mended += n
		if left.add(row); left.rows%batchRows == 0 {
			c.Told(Progress{Step: StepCompare, Table: there.Name, Rows: left.rows})
		}
		return nil
	})
	if err != nil {
		cancel(fmt.Errorf("read %s: %w", there.Name, err))
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return Count{}, err
	}
	if left != right {
		return Count{}, perdure.Errorf(perdure.Internal, "the rows of %s are not those of the source: %d rows with the sum %s, in the source %d with %s; empty the database and copy again",
			there.Name, right.rows, right, left.rows, left)
	}
	c.Told(Progress{Step: StepCompare, Table: there.Name, Rows: left.rows, Mended: mended, Done: true})
	return Count{Table: there.Name, Rows: left.rows, Mended: mended}, nil
}
