// Vectors prints what the real Go functions answer, as test data for the C ones: `vectors NAME` one set, `vectors -all
// DIR` every set into DIR/NAME.txt. A row is a line of fields parted by tabs; within a field \t \n \r \\ and \xNN stand
// for what they say. The inputs are lists in these files and streams from a fixed seed, so every run prints the same.
package main

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// A set prints rows.
type set func(out *rows)

var sets = map[string]set{}

type rows struct {
	text bytes.Buffer
	rand *rand.Rand
	seen map[string]bool
}

func escape(field string) string {
	var b strings.Builder
	for i := 0; i < len(field); i++ {
		switch c := field[i]; {
		case c == '\\':
			b.WriteString(`\\`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c < 0x20 || c >= 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func (out *rows) row(fields ...string) {
	for i, field := range fields {
		if i > 0 {
			out.text.WriteByte('\t')
		}
		out.text.WriteString(escape(field))
	}
	out.text.WriteByte('\n')
}

// Has this input been printed before?
func (out *rows) again(in string) bool {
	seen := out.seen[in]
	out.seen[in] = true
	return seen
}

func (out *rows) pick(from ...string) string {
	return from[out.rand.Intn(len(from))]
}

// A text of up to max characters of an alphabet.
func (out *rows) random(alphabet string, max int) string {
	var b strings.Builder
	for n := out.rand.Intn(max + 1); n > 0; n-- {
		b.WriteByte(alphabet[out.rand.Intn(len(alphabet))])
	}
	return b.String()
}

func verdict(err error) string {
	if err != nil {
		return "refused"
	}
	return "ok"
}

func bits(list []bool) string {
	var b strings.Builder
	for _, bit := range list {
		if bit {
			b.WriteByte('1')
		} else {
			b.WriteByte('0')
		}
	}
	return b.String()
}

func make1(name string) []byte {
	out := &rows{rand: rand.New(rand.NewSource(1)), seen: map[string]bool{}}
	sets[name](out)
	return out.text.Bytes()
}

func main() {
	names := []string{}
	for name := range sets {
		names = append(names, name)
	}
	sort.Strings(names)
	switch {
	case len(os.Args) == 2 && sets[os.Args[1]] != nil:
		os.Stdout.Write(make1(os.Args[1]))
	case len(os.Args) == 3 && os.Args[1] == "-all":
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(os.Args[2], name+".txt"), make1(name), 0o644); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
	default:
		fmt.Fprintf(os.Stderr, "usage: vectors {%s} | -all DIR\n", strings.Join(names, "|"))
		os.Exit(2)
	}
}
