package main

import (
	"math"
	"slices"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		name   string
		values []float64
		want   float64
	}{
		{"none", nil, 0},
		{"one", []float64{3}, 3},
		{"odd number, unsorted", []float64{9, 1, 5}, 5},
		{"even number: mean of the middles", []float64{8, 1, 2, 4}, 3},
		{"one outlier has no say", []float64{10, 11, 12, 13, 1e9}, 12},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := slices.Clone(test.values)
			if got := median(test.values); got != test.want {
				t.Errorf("median %v = %v, want %v", test.values, got, test.want)
			}
			if !slices.Equal(test.values, before) {
				t.Errorf("values were moved: %v", test.values)
			}
		})
	}
}

func TestMedianTime(t *testing.T) {
	got := medianTime([]time.Duration{30 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond})
	if got != 20*time.Millisecond {
		t.Errorf("got %v, want 20ms", got)
	}
}

func TestPairedRatio(t *testing.T) {
	for _, test := range []struct {
		name string
		a, b []float64
		want float64
		ok   bool
	}{
		{"no rounds", nil, nil, 0, false},
		{"twice as fast", []float64{20, 40, 60}, []float64{10, 20, 30}, 2, true},
		// The machine was four times as slow in the second half: the ratio of the medians would be
		// 100/25, that of the rounds is what both servers are.
		{"slow rounds hit both", []float64{100, 100, 25, 25}, []float64{100, 100, 25, 25}, 1, true},
		{"a round without a success does not count", []float64{0, 30, 30}, []float64{10, 10, 0}, 3, true},
		{"rounds that only one server had do not count", []float64{30, 5, 5}, []float64{10}, 3, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, ok := pairedRatio(test.a, test.b)
			if ok != test.ok || math.Abs(got-test.want) > 1e-9 {
				t.Errorf("got %v, %v, want %v, %v", got, ok, test.want, test.ok)
			}
		})
	}
}

func TestRotation(t *testing.T) {
	for servers := 1; servers <= 4; servers++ {
		places := make([]map[int]bool, servers)
		for i := range places {
			places[i] = map[int]bool{}
		}
		for round := range servers {
			order := rotation(servers, round)
			if sorted := slices.Sorted(slices.Values(order)); len(slices.Compact(sorted)) != servers || sorted[0] != 0 || sorted[servers-1] != servers-1 {
				t.Fatalf("%d servers, round %d: %v is not each server once", servers, round, order)
			}
			for place, server := range order {
				places[server][place] = true
			}
		}
		for server, had := range places {
			if len(had) != servers {
				t.Errorf("%d servers: server %d had only places %v", servers, server, had)
			}
		}
	}
}
