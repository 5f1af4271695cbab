package perdure

import (
	"encoding/json"
	"slices"
)

// Features is a set of features that a worker must support to run certain executions and tasks. Each
// feature is one bit. Sets are stored, so the meaning of a bit never changes.
type Features int64

// FeatureContext means that a worker builds the model's context as ContextOf does: it leaves out the
// entries that a compaction covers. An execution needs the feature from its first compaction on.
const FeatureContext Features = 1

// FeatureQuestions means that a worker supports waits for questions, and claims that contain
// questions. An execution needs the feature from its first question on.
const FeatureQuestions Features = 2

// FeatureLocalQuestions means that a worker stores the contents and the answers of the questions of
// LOCAL executions. A LOCAL execution needs the feature from its first question on. If approval
// policies guard its tool calls, the execution needs the feature from its start on.
const FeatureLocalQuestions Features = 4

// AllFeatures are the features that workers of this version support.
const AllFeatures = FeatureContext | FeatureQuestions | FeatureLocalQuestions

// featureNames are the names of the features in the order of their bits.
var featureNames = []string{"context/1", "questions", "questions/local"}

// Lacks returns the features that are in needs and not in f.
func (f Features) Lacks(needs Features) Features { return needs &^ f }

// Names returns the names of the features in f; nil if there are none. It leaves out features
// without a name in featureNames, which a newer version has stored.
func (f Features) Names() (names []string) {
	for i, name := range featureNames {
		if f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// FeaturesOf returns the features with these names. It ignores names that are not in featureNames.
func FeaturesOf(names []string) (f Features) {
	for _, name := range names {
		if i := slices.Index(featureNames, name); i >= 0 {
			f |= 1 << i
		}
	}
	return f
}

// MarshalJSON writes the names of the features as a list.
func (f Features) MarshalJSON() ([]byte, error) {
	return json.Marshal(append([]string{}, f.Names()...))
}

// UnmarshalJSON reads a list of names of features.
func (f *Features) UnmarshalJSON(raw []byte) error {
	var names []string
	if err := json.Unmarshal(raw, &names); err != nil {
		return err
	}
	*f = FeaturesOf(names)
	return nil
}
