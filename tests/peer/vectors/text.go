package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

func init() {
	// "text", bytes, JSON without HTML escapes; "number", the bits of a float64 in hexadecimal, JSON
	sets["encoding"] = func(out *rows) {
		for _, in := range texts {
			text(out, in)
		}
		for c := 0; c < 256; c++ {
			text(out, string([]byte{byte(c)}))
			text(out, "abcdefgh"+string([]byte{byte(c)})+"ijklmnop")
		}
		for i := 0; i < 200; i++ {
			text(out, out.random("ab\"\\\n\x01\x7f\xc3\xa9\xe2\x80\xa8\xf0\x9f\x98\x80\xed\xa0", 20))
		}
		for _, f := range numbers {
			number(out, f)
		}
		for i := 0; i < 600; i++ {
			number(out, math.Float64frombits(out.rand.Uint64()))
			number(out, float64(out.rand.Int63()>>out.rand.Intn(63))*math.Pow10(out.rand.Intn(50)-25))
			number(out, float64(out.rand.Intn(100000))/float64(1+out.rand.Intn(1000)))
		}
	}
}

var texts = []string{
	"", "a", "<html>&amp;</html>", "\u2028\u2029", "é", "日本語", "😀", "\ufffd", "a\"b\\c/d", "\b\f\n\r\t", "\xff", "\xc3", "\xe2\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
	strings.Repeat("x", 100), strings.Repeat("x", 63) + "\"" + strings.Repeat("y", 64), "\u007f\u0080",
}

var numbers = []float64{
	0, math.Copysign(0, -1), 1, -1, 0.1, 0.5, 1.5, 100, 1e6, 1e20, 1e21, 1e22, 123456789012345680000, 999999999999999900000, 1e-5, 1e-6, 1e-7, 9.999999e-7, 1.5e-7,
	math.MaxFloat64, math.SmallestNonzeroFloat64, 2.2250738585072014e-308, 5.684341886080802e-14, 1 << 53, 1<<53 + 2, 1.7976931348623157e308, 3.141592653589793, 1e100,
	0.30000000000000004, 4503599627370497.5, 123e-300, 1e9, 12345678.9,
}

func text(out *rows, in string) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(in); err != nil {
		panic(err)
	}
	out.row("text", in, strings.TrimSuffix(b.String(), "\n"))
}

func number(out *rows, f float64) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return
	}
	b, err := json.Marshal(f)
	if err != nil {
		panic(err)
	}
	out.row("number", fmt.Sprintf("%016x", math.Float64bits(f)), string(b))
}
