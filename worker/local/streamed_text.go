package local

import (
	"context"
	"io"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// StreamedText implements [perdure.Dispatch]. For a LOCAL execution, it reads the text from the local
// store.
func (d *Dispatch) StreamedText(ctx context.Context, execution, task uuid.UUID) (perdure.StreamedText, error) {
	got, err := d.Dispatch.StreamedText(ctx, execution, task)
	if err != nil {
		return got, err
	}
	for _, sum := range got.Withheld {
		r, err := d.store.shownContent(ctx, execution, sum)
		if err != nil {
			return got, err
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return got, err
		}
		if err := r.Close(); err != nil {
			return got, err
		}
		got.Text += string(text)
	}
	got.Withheld = nil
	return got, nil
}
