package main

import (
	"slices"
	"time"
)

// median returns the middle of the values, the mean of both middles for an even number, 0 for none.
func median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// medianTime is median for times.
func medianTime(times []time.Duration) time.Duration {
	values := make([]float64, len(times))
	for i, t := range times {
		values[i] = float64(t)
	}
	return time.Duration(median(values))
}

// pairedRatio returns the median over the rounds of a's value over b's in the same round, and whether
// there is one. A round counts if both have a value other than 0: what slowed the machine down in a
// round hit both, so the ratio of that round still says something, while a ratio of two medians taken
// from different rounds would not.
func pairedRatio(a, b []float64) (float64, bool) {
	var ratios []float64
	for i := range min(len(a), len(b)) {
		if a[i] > 0 && b[i] > 0 {
			ratios = append(ratios, a[i]/b[i])
		}
	}
	return median(ratios), len(ratios) > 0
}

// rotation returns the order in which n servers take their turn in a round. Over n rounds each server
// has had each place once, so none always runs in the wake of the same other one.
func rotation(n, round int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = (i + round) % n
	}
	return order
}
