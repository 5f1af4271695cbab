package log

import (
	"cmp"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load/contents"
	"github.com/perdure/perdure/internal/store/sql/load/log"
)

// folded is a closed block, whose row contains the joined texts of its chunks. The field `cuts`
// describes only the chunks in the window that is read (see logWindow).
type folded struct {
	source
	block int64
	cuts  []log.Cut
	blob  *uuid.UUID // the blob with the content of a block of a LOCAL execution
	named contents.TextPlace
}

func (w *logWindow) closedChunks() ([]perdure.Record, error) {
	var blocks []folded
	err := w.Each(logClosed, []any{w.execution[:], w.after, w.upTo, log.MaxSpanClass}, func(row func(...any) error) error {
		var (
			f            folded
			cuts, nonces []byte
		)
		err := row(append(append(f.scan(), &f.block, &cuts, &nonces, column.OptIDInto(&f.blob)), f.named.Scan()...)...)
		if err == nil {
			f.cuts, err = log.ReadCuts(cuts, nonces, w.after, w.upTo)
		}
		if len(f.cuts) > 0 {
			blocks = append(blocks, f)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	w.boundCuts(blocks)
	var chunks []perdure.Record
	for _, f := range blocks {
		if f.cuts[0].Pos > w.upTo {
			continue
		}
		content, err := w.content(&f)
		if err != nil {
			return nil, err
		}
		for _, c := range f.cuts {
			if c.Pos > w.upTo {
				break
			}
			r := f.at(c, c.Piece(content))
			if f.blob != nil && len(content) == 0 {
				r.Chunk.Length = c.Length
			}
			chunks = append(chunks, r)
		}
	}
	return chunks, nil
}

// boundCuts moves the end of the window back to the chunk at which the byte limit is reached.
func (w *logWindow) boundCuts(blocks []folded) {
	var all []log.Cut
	for _, f := range blocks {
		all = append(all, f.cuts...)
	}
	slices.SortFunc(all, func(a, b log.Cut) int { return cmp.Compare(a.Pos, b.Pos) })
	full := w.bound()
	for _, c := range all {
		if full(c.Pos, int(c.Length)+64) {
			return
		}
	}
}

func (w *logWindow) content(f *folded) ([]byte, error) {
	if f.blob != nil {
		ref, err := contents.Ref(w.View, w.execution, f.blob)
		if err != nil {
			return nil, err
		}
		return contents.Whole(w.View, w.execution, ref)
	}
	if f.named.Entry != 0 {
		return w.texts.At(w.View, w.execution, f.named)
	}
	var content []byte
	_, err := w.One(blockContent, []any{w.execution[:], f.task[:], int64(f.attempt), f.block}, &content)
	last := f.cuts[len(f.cuts)-1]
	if err == nil && len(content) > 0 && int64(len(content)) < last.Offset+last.Length {
		err = log.ErrCuts
	}
	return content, err
}
