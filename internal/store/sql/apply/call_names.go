package apply

import (
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/load/contents"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// loadCallNames loads the names of the tools whose calls have no result yet at a requested entry.
// It reads nothing for an entry without such calls.
func loadCallNames(v statement.View, execution uuid.UUID, n store.Needs, s *store.State) error {
	s.CallNames = map[string]string{}
	for _, id := range n.Entries {
		if head := s.Entries[id]; len(head.Open) > 0 {
			if err := nameCalls(v, execution, id, head.Open[0], s.CallNames); err != nil {
				return err
			}
		}
	}
	return nil
}

// nameCalls searches upwards, from the entry `from`, for the entry that contains the tool call. On
// the way, it reads only results of that entry's calls. It adds to `names` the name of each tool
// that the found entry calls.
func nameCalls(v statement.View, execution, from uuid.UUID, call string, names map[string]string) error {
	for at := &from; at != nil; {
		e, err := load.Entry(v, execution, *at)
		if err != nil || e == nil {
			return err
		}
		if !slices.Contains(e.Calls, call) {
			at = e.ParentID
			continue
		}
		if err := contents.JoinContent(v, execution, &e.Content, &e.Blob); err != nil || e.Content == nil {
			return err // content is nil if it is withheld (not stored here)
		}
		var c perdure.Content
		if err := json.Unmarshal(e.Content, &c); err != nil {
			return err
		}
		perdure.AddCallNames(names, c.Parts)
		return nil
	}
	return nil
}
