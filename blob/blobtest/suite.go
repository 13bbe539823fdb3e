package blobtest

import (
	"testing"

	"holdfast/blob"
)

// Suite runs the contract of blob.Store against the stores that open makes. Every
// call of open must return an empty store; Suite leaves objects in it.
func Suite(t *testing.T, open func(t *testing.T) blob.Store) {
	tests := []struct {
		name string
		test func(t *testing.T, s blob.Store)
	}{
		{"KeepsEveryByte", testRoundTrip},
		{"ReadsRanges", testRanges},
		{"SeeksLikeAFile", testReader},
		{"LeavesNothingOfAWrongSize", testWrongSize},
		{"LeavesNothingOfAFailedBody", testFailedBody},
		{"LeavesNothingOfACanceledPut", testCanceled},
		{"LetsGoOfTheBody", testBodyReleased},
		{"RefusesATakenKey", testExist},
		{"KnowsWhatDoesNotExist", testNotExist},
		{"DeletesTwice", testDelete},
		{"RefusesInvalidKeys", testKeys},
		{"SharesTheEmptyObject", testEmpty},
		{"TakesParallelWriters", testParallel},
		{"ListsEverything", testList},
		{"HoldsNoBody", testMemory},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, open(t)) })
	}
}
