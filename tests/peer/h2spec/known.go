package main

import (
	"iter"
	"maps"
)

func keys(m map[string]string) iter.Seq[string] { return maps.Keys(m) }

// known are the cases in which nghttp2 does something else than h2spec asks for, and why that is safe. The list may only
// shrink: a case that passes is an error here, too. docs/ARCHITECTURE.md has the reasons in one place.
var known = map[string]string{
	"http2/5.1/5":   late,
	"http2/5.1/6":   late,
	"http2/5.1/8":   late,
	"http2/5.1/9":   late,
	"http2/5.1/11":  late,
	"http2/5.1/12":  late,
	"http2/5.1.1/2": "a smaller stream identifier is a stream that is closed already: " + late,
	"http2/5.3.1/2": priority,
	"http2/6.1/2":   late,
	"http2/6.3/1":   priority,
}

// timed are those of them that pass when the frame comes before the answer's end: the stream is not over then.
var timed = map[string]bool{"http2/5.1/5": true, "http2/5.1/6": true, "http2/6.1/2": true}

const (
	late     = "a frame on a stream that is over is ignored: after an RST_STREAM of ours it may be on its way"
	priority = "PRIORITY is ignored altogether: SETTINGS_NO_RFC7540_PRIORITIES is announced"
)
