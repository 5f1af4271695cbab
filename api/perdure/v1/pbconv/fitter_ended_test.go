package pbconv

import (
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"google.golang.org/protobuf/proto"
)

// TestHeadsWithoutRoomAreLeftToTheNextPage checks a reply with eight claims, each with a full page
// of ended steps and tasks. The reply has at most 2 MiB: the page of the first claim is complete,
// and the pages of the other claims are empty. The next page of each other claim begins where its
// empty page began.
func TestHeadsWithoutRoomAreLeftToTheNextPage(t *testing.T) {
	page := &perdure.EndedPage{From: 7, Next: 507, Whole: true}
	for range perdure.EndedPageHeads {
		page.Heads = append(page.Heads, perdure.EndedHead{
			ID: uuid.New(), Kind: "a step", Step: true, Status: perdure.TaskCompleted, Size: 1000,
			Result: perdure.Inline(make([]byte, perdure.EndedInline)),
		})
	}
	fit, answer := Fitter{Answer: true}, &perdurev1.PollAgentResponse{}
	for range 8 {
		claim := AgentClaimToProto(&perdure.AgentClaim{Execution: &perdure.Execution{}, Ended: page})
		if err := fit.AgentClaim(claim, perdure.Lease{}); err != nil {
			t.Fatal(err)
		}
		answer.Claims = append(answer.Claims, claim)
	}
	if size := proto.Size(answer); size > 2<<20 {
		t.Errorf("the answer has %d bytes", size)
	}
	for i, c := range answer.GetClaims() {
		switch got := c.GetEnded(); {
		case i == 0:
			if len(got.GetHeads()) != perdure.EndedPageHeads || got.GetMore() || got.GetNext() != 507 {
				t.Errorf("the first page has %d heads", len(got.GetHeads()))
			}
		case len(got.GetHeads()) != 0 || !got.GetMore() || got.GetNext() != 7 || !got.GetWhole():
			t.Errorf("page %d has %d heads, then comes %d", i, len(got.GetHeads()), got.GetNext())
		}
	}
}
