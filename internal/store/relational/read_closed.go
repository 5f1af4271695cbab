package relational

import (
	"cmp"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// folded is a compacted block (a closed block whose chunks are stored in its row), with its cuts in
// the window.
type folded struct {
	source
	block int64
	cuts  []cut
	blob  *uuid.UUID // a LOCAL execution's block: the blob that holds its content
	named place
}

func (w *logWindow) closedChunks() ([]perdure.Record, error) {
	var blocks []folded
	err := w.each(logClosed, []any{w.execution[:], w.after, w.upTo, maxSpanClass}, func(row func(...any) error) error {
		var (
			f            folded
			cuts, nonces []byte
		)
		err := row(append(append(f.scan(), &f.block, &cuts, &nonces, optIDInto(&f.blob)), f.named.scan()...)...)
		if err == nil {
			f.cuts, err = readCuts(cuts, nonces, w.after, w.upTo)
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
		if f.cuts[0].pos > w.upTo {
			continue
		}
		content, err := w.content(&f)
		if err != nil {
			return nil, err
		}
		for _, c := range f.cuts {
			if c.pos > w.upTo {
				break
			}
			r := f.at(c, c.piece(content))
			if f.blob != nil && len(content) == 0 {
				r.Chunk.Length = c.length
			}
			chunks = append(chunks, r)
		}
	}
	return chunks, nil
}

// piece returns the cut's part of its block's content. The content of a superseded block is
// deleted, but its positions remain.
func (c cut) piece(content []byte) []byte {
	if len(content) == 0 {
		return nil
	}
	return content[c.offset : c.offset+c.length]
}

// boundCuts moves the window's end to where the byte limit is reached.
func (w *logWindow) boundCuts(blocks []folded) {
	var all []cut
	for _, f := range blocks {
		all = append(all, f.cuts...)
	}
	slices.SortFunc(all, func(a, b cut) int { return cmp.Compare(a.pos, b.pos) })
	full := w.bound()
	for _, c := range all {
		if full(c.pos, int(c.length)+64) {
			return
		}
	}
}

func (w *logWindow) content(f *folded) ([]byte, error) {
	if f.blob != nil {
		ref, err := loadRef(w.view, w.execution, f.blob)
		if err != nil {
			return nil, err
		}
		return loadWhole(w.view, w.execution, ref)
	}
	if f.named.entry != 0 {
		return w.texts.at(w.view, w.execution, f.named)
	}
	var content []byte
	_, err := w.one(blockContent, []any{w.execution[:], f.task[:], int64(f.attempt), f.block}, &content)
	last := f.cuts[len(f.cuts)-1]
	if err == nil && len(content) > 0 && int64(len(content)) < last.offset+last.length {
		err = errCuts
	}
	return content, err
}
