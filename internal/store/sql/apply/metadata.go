package apply

import (
	"bytes"
	"encoding/json"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var putMetadata = statement.Alone("INSERT INTO agent_metadata (agent_execution_id, key, value, org_id, number)" +
	" SELECT x.id, ?2, ?3, x.org_id, x.number FROM agent_execution x WHERE x.id = ?1")

// indexMetadata adds a new execution to the index of metadata. It writes one row for each member
// that metadataMembers returns.
func indexMetadata(v statement.View, x *perdure.Execution) error {
	for _, m := range metadataMembers(x.Metadata) {
		if err := v.Write(putMetadata, x.ID[:], m.key, m.value); err != nil {
			return err
		}
	}
	return nil
}

// member is a top-level member of metadata, with its value as text.
type member struct{ key, value string }

// metadataMembers returns the top-level members of a metadata object that are short enough for the
// index. If a key is repeated, only the last member with that key counts.
func metadataMembers(metadata json.RawMessage) []member {
	if len(metadata) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(metadata))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var all []member
	at := map[string]int{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return all
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return all
		}
		m := member{perdure.ValidText(key.(string)), memberText(value)}
		i, again := at[m.key]
		switch {
		case again:
			all[i] = m
		default:
			at[m.key], all = len(all), append(all, m)
		}
	}
	return indexedOnly(all)
}

func indexedOnly(all []member) []member {
	kept := all[:0]
	for _, m := range all {
		if load.IndexedMember(m.key, m.value) {
			kept = append(kept, m)
		}
	}
	return kept
}

// memberText returns the text with which a filter compares a metadata value: the text of a string,
// or the JSON of any other value.
func memberText(value json.RawMessage) string {
	var s string
	if value[0] == '"' && json.Unmarshal(value, &s) == nil {
		return perdure.ValidText(s)
	}
	return string(value)
}
