package main

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

func init() {
	// input, then 1 or 0: DNS-1123 label, DNS-1123 subdomain, DNS-1035 label, qualified name, label value
	sets["names"] = func(out *rows) {
		for _, in := range names {
			name(out, in)
		}
		for i := 0; i < 700; i++ {
			name(out, out.random("abz09-", 6))
			name(out, out.random("aB0-._/", 9))
		}
		for i := 0; i < 100; i++ {
			name(out, out.random("a0-.é\n", 5))
		}
	}
}

var names = []string{
	"", "a", "A", "0", "-", ".", "_", "/", "a-", "-a", "a.", ".a", "a.b", "a..b", "a-b", "a_b", "a/b", "a/", "/b", "a/b/c", "a.b/c", "a.b/c_d.e-F",
	"A.b/c", "a_b/c", "a.b/", "0a", "a0", "abc123", "my-name", "MyName", "my.name", "node-1.example.com", "nvidia.com/gpu", "gpu.deckhouse.io/H100-80GB",
	"kubernetes.io/hostname", "-a/b", "a/-b", "a/b-", "é", "a é", "a b", "a\n", "a\x00",
	strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a", 253), strings.Repeat("a", 254),
	strings.Repeat("a.", 126) + "a", strings.Repeat("a.", 127) + "a", strings.Repeat("a", 253) + "/b", strings.Repeat("a", 254) + "/b",
	"a/" + strings.Repeat("b", 63), "a/" + strings.Repeat("b", 64), strings.Repeat("a", 64) + ".b", strings.Repeat("0", 63),
}

func name(out *rows, in string) {
	if out.again(in) {
		return
	}
	out.row(in, bits([]bool{
		len(validation.IsDNS1123Label(in)) == 0, len(validation.IsDNS1123Subdomain(in)) == 0,
		len(validation.IsDNS1035Label(in)) == 0, len(validation.IsQualifiedName(in)) == 0,
		len(validation.IsValidLabelValue(in)) == 0,
	}))
}
