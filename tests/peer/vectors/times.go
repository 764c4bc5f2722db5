package main

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func init() {
	// input; metav1.Time: verdict, microseconds since 1970, printed; metav1.MicroTime: verdict, printed
	sets["times"] = func(out *rows) {
		for _, in := range times {
			aTime(out, in)
		}
		for i := 0; i < 400; i++ {
			t := time.Unix(out.rand.Int63n(253402300799+62135596799)-62135596799, out.rand.Int63n(1e9))
			t = t.In(time.FixedZone("", (out.rand.Intn(2*14*60)-14*60)*60))
			aTime(out, t.Format(out.pick(time.RFC3339, time.RFC3339Nano, metav1.RFC3339Micro)))
		}
		for i := 0; i < 500; i++ {
			in := []byte(out.pick("2026-02-28T23:59:59Z", "2024-02-29T00:00:00.5+01:30", "2026-11-21T07:12:03.123456Z"))
			for n := 1 + out.rand.Intn(2); n > 0; n-- {
				in[out.rand.Intn(len(in))] = "0123456789-:.,TZ+tz "[out.rand.Intn(20)]
			}
			aTime(out, string(in))
		}
	}
	// input, verdict, nanoseconds, printed
	sets["durations"] = func(out *rows) {
		for _, in := range durations {
			duration(out, in)
		}
		for i := 0; i < 300; i++ {
			n := out.rand.Int63() >> out.rand.Intn(63)
			if out.rand.Intn(2) == 0 {
				n = -n
			}
			duration(out, time.Duration(n).String())
			duration(out, fmt.Sprintf("%s%s.%s%s", out.pick("", "-", "+"), out.random("0123456789", 6), out.random("0123456789", 12),
				out.pick("ns", "us", "µs", "μs", "ms", "s", "m", "h", "")))
			duration(out, out.random("019.hmsnuµ-+ ", 8))
		}
	}
}

var times = []string{
	"", "null", "2026-11-21T07:12:03Z", "2026-11-21T07:12:03.5Z", "2026-11-21T07:12:03.123456Z", "2026-11-21T07:12:03.123456789Z",
	"2026-11-21T07:12:03.1234567891234Z", "2026-11-21T07:12:03.Z", "2026-11-21T07:12:03,5Z", "2026-11-21T07:12:03+00:00", "2026-11-21T07:12:03-00:00",
	"2026-11-21T07:12:03+02:00", "2026-11-21T07:12:03-07:30", "2026-11-21T07:12:03+24:00", "2026-11-21T07:12:03+23:59", "2026-11-21T07:12:03+25:00",
	"2026-11-21T07:12:03+00:60", "2026-11-21T07:12:03+00:61", "2026-11-21T07:12:03+0200", "2026-11-21T07:12:03+02", "2026-11-21T07:12:03", "2026-11-21",
	"2026-11-21 07:12:03Z", "2026-11-21t07:12:03Z", "2026-11-21T07:12:03z", "2026-11-21T7:12:03Z", "2026-11-21T07:2:03Z", "2026-11-21T07:12:3Z",
	"2026-1-21T07:12:03Z", "26-11-21T07:12:03Z", "12026-11-21T07:12:03Z", "2026-13-21T07:12:03Z", "2026-00-21T07:12:03Z", "2026-11-00T07:12:03Z",
	"2026-11-31T07:12:03Z", "2026-02-29T00:00:00Z", "2024-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2000-02-29T00:00:00Z", "2026-11-21T24:00:00Z",
	"2026-11-21T23:60:00Z", "2026-11-21T23:59:60Z", "1970-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.999999Z", "0001-01-01T00:00:00Z",
	"0001-01-01T00:00:01Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59.999999Z", "2026-11-21T07:12:03Z ", " 2026-11-21T07:12:03Z",
	"2026-11-21T07:12:03.12345Z", "2026-11-21T07:12:03.1234567Z", "2026-11-21T07:12:03.123456+01:00", "-026-11-21T07:12:03Z", "2026-11-21T-7:12:03Z",
	"2026-11-21T07:12:03.-5Z", "2026-11-21T07:12:03.12a456Z", "2026-11-21T07:12:03,123456Z", "0001-01-01T00:00:00.000001Z", "2026-11-21T7:12:03.123456Z",
}

func aTime(out *rows, in string) {
	if out.again(in) {
		return
	}
	quoted, _ := json.Marshal(in)
	var t metav1.Time
	var m metav1.MicroTime
	row := []string{in}
	if err := json.Unmarshal(quoted, &t); err != nil {
		row = append(row, "refused", "", "")
	} else {
		// A year that is none (before 0000, after 9999 once in UTC) cannot be printed so that it reads back.
		if y := t.UTC().Year(); y < 0 || y > 9999 {
			return
		}
		text, _ := t.MarshalJSON()
		row = append(row, "ok", fmt.Sprint(t.UnixMicro()), string(text))
	}
	if err := json.Unmarshal(quoted, &m); err != nil {
		row = append(row, "refused", "")
	} else {
		text, _ := m.MarshalJSON()
		row = append(row, "ok", string(text))
	}
	out.row(row...)
}

var durations = []string{
	"", "0", "+0", "-0", "0s", "1", "1s", "5m", "2h", "1h2m3s", "1h30m", "1.5h", ".5s", "1.s", ".s", ".", "-1.5h", "+5s", "--5s", "5 s", "5S", "5d", "1us", "1µs",
	"1μs", "1ns", "1ms", "1500ms", "1m1m", "3s2h", "100000h", "2562047h47m16.854775807s", "2562047h47m16.854775808s", "-2562047h47m16.854775808s",
	"-2562047h47m16.854775809s", "9223372036854775807ns", "9223372036854775808ns", "-9223372036854775808ns", "9223372036854775.807us", "0.1ns", "0.9ns",
	"1.9999999999s", "0.000000001s", "0.0000000001s", "0.000000000000000000000001h", "99999999999999999999s", "1h-5m", "1e3s", "1s ", " 1s", "s", "h", "1x", "1msx",
	"0.3333333333333333333h", "9007199254.740993ms", "1n", "1m0.5s", "inf",
}

func duration(out *rows, in string) {
	if out.again(in) {
		return
	}
	d, err := time.ParseDuration(in)
	if err != nil {
		out.row(in, "refused")
		return
	}
	out.row(in, "ok", fmt.Sprint(int64(d)), d.String())
}
