package variant

import (
	"math"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

func TestSeconds(t *testing.T) {
	cases := map[string]struct {
		reason  string
		value   any
		want    float64
		problem string
		// negative is what a webhook that is read loosely may answer too.
		negative bool
	}{
		"Absent":      {reason: "No time is asked for.", value: nil},
		"Zero":        {reason: "Zero is no time, as with metacontroller.", value: int64(0)},
		"ZeroFloat":   {reason: "It may be a float, and negative.", value: math.Copysign(0, -1)},
		"Whole":       {reason: "A number of seconds is as it is.", value: int64(30), want: 30},
		"Fraction":    {reason: "It may have a fraction.", value: 2.5, want: 2.5},
		"Short":       {reason: "And be less than a second.", value: 0.1, want: 0.1},
		"Tiny":        {reason: "What is nothing to a timer is raised to a millisecond, as 0 would mean never.", value: 1e-9, want: 1e-3},
		"Smallest":    {reason: "Even the smallest number that there is.", value: math.SmallestNonzeroFloat64, want: 1e-3},
		"Never":       {reason: "The largest number of 32 bits is used as never.", value: int64(math.MaxInt32), want: math.MaxInt32},
		"Longest":     {reason: "A hundred years are the most.", value: int64(3153600000), want: 3153600000},
		"TooLong":     {reason: "More is a mistake.", value: int64(3153600001), problem: "is 3153600001"},
		"Huge":        {reason: "Even if no duration could hold it.", value: int64(math.MaxInt64), problem: "is 9223372036854775807"},
		"HugeFloat":   {reason: "Or no integer.", value: 1e300, problem: "is 1e+300"},
		"Infinite":    {reason: "Infinity is none either.", value: math.Inf(1), problem: "is +Inf"},
		"NotANumber":  {reason: "A worker may send what JSON has not.", value: math.NaN(), problem: "is NaN"},
		"Negative":    {reason: "A time that is over is a mistake.", value: int64(-1), problem: "is -1", negative: true},
		"NegativeInf": {reason: "However long ago.", value: math.Inf(-1), problem: "is -Inf", negative: true},
		"Fraction<0":  {reason: "Or how short.", value: -0.25, problem: "is -0.25", negative: true},
		"String":      {reason: "A time is a number.", value: "5s", problem: "must be a number of seconds, but is a string"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, loose := range []bool{false, true} {
				r := ReadResponse(Answer{Body: map[string]any{"after": tc.value}}, ResponseRules{Fields: []string{"after"}, AllowNegative: loose})
				got, err := r.Seconds("after"), r.Err()
				fails := tc.problem != "" && !(loose && tc.negative)
				if got != tc.want || (err != nil) != fails {
					t.Errorf("%s loose=%v: got %v (%v), want %v", tc.reason, loose, got, err, tc.want)
				}
				if err != nil && (!strings.Contains(err.Error(), tc.problem) || !strings.Contains(err.Error(), "HookResponseInvalid")) {
					t.Errorf("%s the error is %q, want %q", tc.reason, err, tc.problem)
				}
			}
		})
	}
}

// TestAllowNegative checks which hooks may answer a negative time, as metacontroller's may.
func TestAllowNegative(t *testing.T) {
	webhook, script, strict := &v1alpha1.Webhook{}, &v1alpha1.Script{}, v1alpha1.ResponseStrict
	cases := map[string]struct {
		hook v1alpha1.Hook
		want bool
	}{
		"Webhook":         {v1alpha1.Hook{Webhook: webhook}, true},
		"WebhookV2":       {v1alpha1.Hook{Version: v1alpha1.HookV2, Webhook: webhook}, false},
		"WebhookStrict":   {v1alpha1.Hook{Webhook: &v1alpha1.Webhook{ResponseUnMarshallMode: &strict}}, false},
		"Script":          {v1alpha1.Hook{Script: script}, false},
		"ScriptOrWebhook": {v1alpha1.Hook{Script: script, Webhook: webhook, Fallback: v1alpha1.WebhookBackend}, false},
		"ScriptShadows":   {v1alpha1.Hook{Script: script, Webhook: webhook, Shadow: v1alpha1.ScriptBackend}, true},
	}
	for name, tc := range cases {
		if got := RulesFor(&tc.hook, true).AllowNegative; got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
