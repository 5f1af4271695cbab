package uploads

import (
	"context"
	"io"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Read calls the function `use` with a stored content. Large contents of an org are read one at a
// time. Errors: not_found, unavailable, and the error of `use`.
func (u *Uploads) Read(ctx context.Context, org string, execution uuid.UUID, ref perdure.BlobRef, use func(io.Reader) error) error {
	if ref.Length > largeContent {
		done, err := u.large.ofOrg(ctx, org)
		if err != nil {
			return notRead("the content", err)
		}
		defer done()
	}
	content, err := u.store.Blob(ctx, execution, ref.ID)
	if err != nil {
		return err
	}
	defer content.Close()
	return use(content)
}
