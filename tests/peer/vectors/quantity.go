package main

import (
	"fmt"
	"math/big"
	"strings"

	"gopkg.in/inf.v0"
	"k8s.io/apimachinery/pkg/api/resource"
)

func init() {
	// input, verdict, canonical text, format, Value. "?": Go's own answer is not the number that was read
	// (a suffix that it does not have, an int64 that overflows).
	sets["quantity"] = func(out *rows) {
		for _, in := range quantities {
			quantity(out, in)
		}
		for i := 0; i < 1500; i++ {
			quantity(out, randomQuantity(out))
		}
		for i := 0; i < 300; i++ {
			quantity(out, out.random("0019.+-eEkKMGinum", 8))
		}
	}
	// a, b, comparison
	sets["quantity_order"] = func(out *rows) {
		for i := 0; i < 1200; i++ {
			a, b := randomQuantity(out), randomQuantity(out)
			if i%5 == 0 {
				a = quantities[out.rand.Intn(len(quantities))]
			}
			if i%7 == 0 {
				b = quantities[out.rand.Intn(len(quantities))]
			}
			order(out, a, b)
		}
	}
}

var quantities = []string{
	"0", "1", "-1", "+1", "12", "100", "1000", "1024", "1025", "1048576", "0.5", ".5", "5.", "0.1", "-0.5", "1.5", "1.500",
	"0005", "00.5", "1k", "1M", "1G", "1T", "1P", "1E", "1n", "1u", "1m", "100m", "500m", "1500m", "999m", "1000m", "1001m",
	"1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei", "7Ei", "8Ei", "9Ei", "16Ei", "-8Ei", "-16Ei", "1023Ki", "1024Ki", "1025Ki",
	"1536Mi", "1.5Gi", "0.5Ki", "0.5Mi", "0.0001Ki", "1.1Ki", "1.1Gi", "0Ki", "0.0Ki", "-0.5Ki", "0m", "0n", "0E", "0e9",
	"1e3", "1E3", "1e-3", "1e+3", "12e6", "1.5e3", "1e0", "1e1", "1e2", "1e9", "1e18", "1e19", "1e21", "1e30", "1e-9", "1e-10",
	"1e-20", "1.1e-10", "0.1n", "0.9n", "1.1n", "0.0000000001", "0.000000001", "1.0000000001", "128Mi", "80Gi", "81559Mi",
	"9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "9223372036854775807m",
	"18446744073709551615", "99999999999999999999", "123456789012345678", "1234567890123456789", "12345678901234567890123",
	"1000000000000000000000", "1000E", "1000000E", "999999999999999999E", "0.123456789123456789", "1.123456789Ti",
	"0.123456789Gi", "100000000000000000000000Ki", "", " ", "1 ", " 1", "1 k", "k", "Ki", "m", "e9", "e", "E", ".", "+", "-", "+.",
	"..", "1..2", "1.2.3", "--1", "+-1", "1K", "1ki", "1KI", "1kI", "1mi", "1Zi", "1Yi", "1Z", "1e", "1e+", "1e-", "1ee3", "1e3k",
	"1e3.5", "1Ki3", "1E+3", "1i", "1ni", "0x10", "1,000", "1_000", "Inf", "NaN", "one", "1e99", "3.Gi", "5.k", ".k", ".e-20",
	"e-20", "-.5Gi", "1e-100", "0e100", "0.00e-30", "1000000000m", "1500u", "1500n", "12345n", "1Eie", "1nn", "00", "-0", "+0Mi",
}

func randomQuantity(out *rows) string {
	number := out.random("0123456789", []int{2, 3, 5, 9, 15, 17, 18, 19, 22}[out.rand.Intn(9)])
	if out.rand.Intn(3) == 0 {
		number += "." + out.random("0123456789", []int{1, 3, 9, 12}[out.rand.Intn(4)])
	}
	if out.rand.Intn(4) == 0 {
		number += strings.Repeat("0", out.rand.Intn(7))
	}
	suffix := out.pick("", "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Ki", "Mi", "Gi",
		fmt.Sprintf("e%d", out.rand.Intn(40)-15), fmt.Sprintf("E%d", out.rand.Intn(20)-10))
	return out.pick("", "", "", "", "-", "+") + number + suffix
}

// Wider than 95 bits, or with an exponent that nobody needs, is refused in C; there is nothing to compare.
func tooWide(q resource.Quantity) bool {
	dec := q.AsDec()
	unscaled, scale := new(big.Int).Set(dec.UnscaledBig()), int(dec.Scale())
	ten, rest := big.NewInt(10), new(big.Int)
	for unscaled.Sign() != 0 {
		next := new(big.Int)
		next.QuoRem(unscaled, ten, rest)
		if rest.Sign() != 0 {
			break
		}
		unscaled = next
		scale--
	}
	return unscaled.BitLen() > 95 || scale < -100
}

func canonical(q resource.Quantity) string {
	number, suffix := q.CanonicalizeBytes(nil)
	text := string(number) + string(suffix)
	back, err := resource.ParseQuantity(text)
	if err != nil || back.Cmp(q) != 0 {
		return "?"
	}
	return text
}

// What Go says, when it is the number rounded away from zero.
func whole(q resource.Quantity, says int64) string {
	rounded := new(inf.Dec).Round(q.AsDec(), 0, inf.RoundUp)
	if new(inf.Dec).SetUnscaled(says).SetScale(0).Cmp(rounded) != 0 {
		return "?"
	}
	return fmt.Sprint(says)
}

func quantity(out *rows, in string) {
	if out.again(in) {
		return
	}
	q, err := resource.ParseQuantity(in)
	if err != nil {
		out.row(in, "refused")
		return
	}
	if tooWide(q.DeepCopy()) {
		return
	}
	out.row(in, "ok", canonical(q.DeepCopy()), string(q.Format), whole(q.DeepCopy(), q.Value()))
}

func order(out *rows, x, y string) {
	a, err := resource.ParseQuantity(x)
	if err != nil {
		return
	}
	b, err := resource.ParseQuantity(y)
	if err != nil || tooWide(a.DeepCopy()) || tooWide(b.DeepCopy()) {
		return
	}
	out.row(x, y, fmt.Sprint(a.Cmp(b)))
}
