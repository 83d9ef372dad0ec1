package engines

import "strings"

// Nearest returns the name that is most like another one, or "" if none is.
func Nearest(name string, known []string) string {
	best, least := "", 1+len(name)/3
	for _, candidate := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(candidate)); d <= least {
			if best == "" || d < least {
				best, least = candidate, d
			}
		}
	}
	return best
}

// distance returns how many characters must be changed, added or removed to make a into b.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return max(len(a), len(b))
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal, row[j+1] = row[j+1], min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
