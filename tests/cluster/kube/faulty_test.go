package kube

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"golang.org/x/sys/unix"

	"fairlead/tests/cluster"
)

// refuse answers in the API server's place.
func refuse(w http.ResponseWriter, status int, headers map[string]string, body string) bool {
	for name, value := range headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(status)
	fmt.Fprint(w, body)
	return true
}

func statusOf(code int, reason, message string) string {
	text, _ := json.Marshal(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure",
		Code: int32(code), Reason: metav1.StatusReason(reason), Message: message})
	return string(text)
}

var jsonType = map[string]string{"Content-Type": "application/json"}

func about(maps string) func(r *http.Request) bool {
	return func(r *http.Request) bool { return strings.Contains(r.URL.Path, maps) }
}

// A call through something that breaks it once: what comes of it.
func TestACallOnAFaultyWay(t *testing.T) {
	t.Parallel()
	c := cluster.ForTest(t, cluster.Options{})
	ns := space(t, c, "faulty-calls")
	put(t, c, ns, "there", nil, "x", strings.Repeat("y", 100000))
	const get = "get kind=configmap name=there"
	const write = "apply kind=configmap name=made manager=m"
	after := map[string]string{"Retry-After": "1", "Content-Type": "application/json"}
	for _, row := range []struct {
		says, args string
		fault      func(p *proxy, w http.ResponseWriter, r *http.Request) bool
		n          int // how often
		last       string
		least      time.Duration // it takes at least so long
	}{
		{"429 with Retry-After is waited out", get, func(_ *proxy, w http.ResponseWriter, _ *http.Request) bool {
			return refuse(w, 429, after, statusOf(429, "TooManyRequests", "too many"))
		}, 2, "done 200 1", 2 * time.Second},
		{"503 with Retry-After too", write, func(_ *proxy, w http.ResponseWriter, _ *http.Request) bool {
			return refuse(w, 503, after, statusOf(503, "ServiceUnavailable", "starting"))
		}, 1, "done 201 1", time.Second},
		{"429 for ever ends with the deadline, and says why", get + " timeout=3", func(_ *proxy, w http.ResponseWriter, _ *http.Request) bool {
			return refuse(w, 429, after, statusOf(429, "TooManyRequests", "too many"))
		}, 100, "failed deadline passed 429 TooManyRequests ", 2 * time.Second},
		{"500 is told with its words", get, func(_ *proxy, w http.ResponseWriter, _ *http.Request) bool {
			return refuse(w, 500, jsonType, statusOf(500, "InternalError", "the disk is full"))
		}, 1, "failed try again later 500 InternalError the disk is full", 0},
		{"503 without Retry-After is told", get, func(_ *proxy, w http.ResponseWriter, _ *http.Request) bool {
			return refuse(w, 503, jsonType, statusOf(503, "ServiceUnavailable", "shutting down"))
		}, 1, "failed try again later 503 InternalError shutting down", 0},
		{"504 of a write is told as what may have happened", write, func(_ *proxy, w http.ResponseWriter, _ *http.Request) bool {
			return refuse(w, 504, jsonType, statusOf(504, "Timeout", "request did not complete"))
		}, 1, "failed try again later 504 Timeout request did not complete", 0},
		{"a load balancer's page is no answer", get, func(_ *proxy, w http.ResponseWriter, _ *http.Request) bool {
			return refuse(w, 502, map[string]string{"Content-Type": "text/html"}, "<html>Bad Gateway</html>")
		}, 1, "failed try again later 502 InternalError the server answers 502", 0},
		{"a login page with 200 is no object", get, func(_ *proxy, w http.ResponseWriter, _ *http.Request) bool {
			return refuse(w, 200, map[string]string{"Content-Type": "text/html"}, "<html>log in</html>")
		}, 1, "failed invalid 200 - the API server's answer", 0},
		{"a redirect is not followed", get, func(_ *proxy, w http.ResponseWriter, _ *http.Request) bool {
			return refuse(w, 302, map[string]string{"Location": "https://elsewhere/"}, "")
		}, 1, "failed invalid 302 - the server answers 302", 0},
		{"401 once: credentials are read again, and it goes on", get, func(_ *proxy, w http.ResponseWriter, _ *http.Request) bool {
			return refuse(w, 401, jsonType, statusOf(401, "Unauthorized", "Unauthorized"))
		}, 1, "done 200 1", 0},
		{"401 twice is told", get, func(_ *proxy, w http.ResponseWriter, _ *http.Request) bool {
			return refuse(w, 401, jsonType, statusOf(401, "Unauthorized", "Unauthorized"))
		}, 2, "failed denied 401 Unauthorized Unauthorized", 0},
		{"a body cut in its middle is no object", get, func(p *proxy, w http.ResponseWriter, r *http.Request) bool {
			return p.cut(w, r, 50000)
		}, 1, "failed try again later", 0},
		{"a body in drips is whole in the end", get, func(p *proxy, w http.ResponseWriter, r *http.Request) bool {
			p.behind.ServeHTTP(&dripper{ResponseWriter: w}, r)
			return true
		}, 1, "done 200 1", 500 * time.Millisecond},
		{"a server that takes its time is waited for", get, func(*proxy, http.ResponseWriter, *http.Request) bool {
			time.Sleep(2 * time.Second)
			return false
		}, 1, "done 200 1", 2 * time.Second},
		{"but not longer than the deadline", get + " timeout=1", func(_ *proxy, _ http.ResponseWriter, r *http.Request) bool {
			<-r.Context().Done()
			return true
		}, 1, "failed deadline passed", time.Second},
		{"an answer to a write that is lost is told, not taken for done", write, func(p *proxy, w http.ResponseWriter, r *http.Request) bool {
			return p.cut(w, r, 1)
		}, 1, "failed try again later", 0},
		{"and the same write again does no harm", write, func(*proxy, http.ResponseWriter, *http.Request) bool { return false }, 1, "done 200 1", 0},
		{"no answer at all to a read: the connection is made anew", get, func(p *proxy, _ http.ResponseWriter, _ *http.Request) bool {
			p.server.CloseClientConnections()
			return true
		}, 1, "done 200 1", 0},
	} {
		t.Run(row.says, func(t *testing.T) {
			var p *proxy
			hit := times(row.n, about("/configmaps/"))
			p = newProxy(t, c, func(w http.ResponseWriter, r *http.Request) bool { return hit(r) && row.fault(p, w, r) })
			args := append(strings.Fields(row.args), "space="+ns)
			if strings.HasPrefix(row.args, "apply") {
				args = append(args, "body="+config("made", `"x":"1"`))
			}
			began := time.Now()
			last, objects := call(t, c, p.config, args...)
			if !strings.HasPrefix(last, row.last) || time.Since(began) < row.least {
				t.Errorf("said %q after %v, want %q after %v at least", last, time.Since(began), row.last, row.least)
			}
			if strings.HasPrefix(last, "failed") && len(objects) > 0 {
				t.Errorf("and told of %d objects", len(objects))
			}
			t.Log(last)
		})
	}
}

// dripper passes an answer on in forty pieces.
type dripper struct{ http.ResponseWriter }

func (d *dripper) Write(bytes []byte) (int, error) {
	for rest := bytes; len(rest) > 0; {
		n := min(len(rest), 1+len(bytes)/40)
		d.ResponseWriter.Write(rest[:n])
		d.Flush()
		rest = rest[n:]
		time.Sleep(20 * time.Millisecond)
	}
	return len(bytes), nil
}

func (d *dripper) Flush() { d.ResponseWriter.(http.Flusher).Flush() }

func is(name, value string) func(url.Values) bool {
	return func(q url.Values) bool { return q.Get(name) == value }
}

func asks(name string) func(r *http.Request) bool {
	return func(r *http.Request) bool { return r.URL.Query().Has(name) }
}

// A watch through something that breaks it: nothing is lost and nothing is told twice, as client-go's informer has it.
func TestAWatchOnAFaultyWay(t *testing.T) {
	t.Parallel()
	c := cluster.ForTest(t, cluster.Options{})
	const objects = 700 // two pages
	for i, row := range []struct {
		says   string
		args   string
		fulls  int // full states in the end
		hits   int
		meddle func(p *proxy, w http.ResponseWriter, r *http.Request) bool
		which  func(r *http.Request) bool
	}{
		{"500 in the middle of a list's pages begins it anew", "list=1", 1, 1, func(_ *proxy, w http.ResponseWriter, _ *http.Request) bool {
			return refuse(w, 500, jsonType, statusOf(500, "InternalError", "etcd is away"))
		}, asks("continue")},
		{"429 in the middle of a list's pages is waited out", "list=1", 1, 1, func(_ *proxy, w http.ResponseWriter, _ *http.Request) bool {
			return refuse(w, 429, map[string]string{"Retry-After": "1"}, "")
		}, asks("continue")},
		{"a page cut in its middle begins it anew", "list=1", 1, 1, func(p *proxy, w http.ResponseWriter, r *http.Request) bool {
			return p.cut(w, r, 20000)
		}, asks("continue")},
		{"a continue token that has expired begins it anew", "list=1", 1, 1, func(p *proxy, w http.ResponseWriter, r *http.Request) bool {
			return refuse(w, 410, jsonType, statusOf(410, "Expired", "The provided continue parameter is too old"))
		}, asks("continue")},
		{"a stream of initial events cut in its middle begins anew", "stream=1", 1, 2, func(p *proxy, w http.ResponseWriter, r *http.Request) bool {
			return p.cut(w, r, 20000)
		}, asks("sendInitialEvents")},
		{"a server that answers 400 to initial events is listed", "stream=1", 1, 100, func(_ *proxy, w http.ResponseWriter, _ *http.Request) bool {
			return refuse(w, 400, jsonType, statusOf(400, "BadRequest", "unknown parameter"))
		}, asks("sendInitialEvents")},
		{"a server that answers 422 to initial events is listed", "stream=1", 1, 100, func(_ *proxy, w http.ResponseWriter, _ *http.Request) bool {
			return refuse(w, 422, jsonType, statusOf(422, "Invalid", "sendInitialEvents: Forbidden"))
		}, asks("sendInitialEvents")},
		{"events cut in their middle are told once", "list=1", 1, 5, func(p *proxy, w http.ResponseWriter, r *http.Request) bool {
			return p.cut(w, r, 1500)
		}, asks("watch")},
		{"a watch that is refused with 503 goes on where it was", "list=1", 1, 2, func(_ *proxy, w http.ResponseWriter, _ *http.Request) bool {
			return refuse(w, 503, jsonType, statusOf(503, "ServiceUnavailable", "shutting down"))
		}, asks("watch")},
		{"a watch that is refused with 410 reads a new full state", "list=1", 2, 1, func(_ *proxy, w http.ResponseWriter, _ *http.Request) bool {
			return refuse(w, 410, jsonType, statusOf(410, "Expired", "too old resource version"))
		}, asks("watch")},
		{"410 within the watch reads a new full state", "list=1", 2, 1, func(_ *proxy, w http.ResponseWriter, _ *http.Request) bool {
			return refuse(w, 200, jsonType, `{"type":"ERROR","object":`+statusOf(410, "Expired", "too old resource version")+"}\n")
		}, asks("watch")},
		{"an ERROR of 500 within the watch goes on where it was", "list=1", 1, 1, func(_ *proxy, w http.ResponseWriter, _ *http.Request) bool {
			return refuse(w, 200, jsonType, `{"type":"ERROR","object":`+statusOf(500, "InternalError", "unable to decode")+"}\n")
		}, asks("watch")},
		{"a watch whose stream is nonsense goes on where it was", "list=1", 1, 1, func(_ *proxy, w http.ResponseWriter, _ *http.Request) bool {
			return refuse(w, 200, jsonType, "{\"type\":\"ADDED\",\"object\":{]}\n")
		}, asks("watch")},
		{"connections closed again and again lose nothing", "timeout=300", 1, 4, func(p *proxy, w http.ResponseWriter, r *http.Request) bool {
			go func() { time.Sleep(600 * time.Millisecond); p.server.CloseClientConnections() }()
			return false
		}, asks("watch")},
	} {
		t.Run(row.says, func(t *testing.T) {
			t.Parallel()
			ns := space(t, c, fmt.Sprint("faulty-", i))
			store := informerOf(t, c, ns)
			var all sync.WaitGroup
			for w := range 8 {
				all.Go(func() {
					for n := w; n < objects; n += 8 {
						put(t, c, ns, fmt.Sprint("o-", n), nil, "x", strings.Repeat("y", 60))
					}
				})
			}
			all.Wait()
			var p *proxy
			var hits atomic.Int32
			hit := times(row.hits, row.which)
			p = newProxy(t, c, func(w http.ResponseWriter, r *http.Request) bool {
				if !hit(r) {
					return false
				}
				hits.Add(1)
				return row.meddle(p, w, r)
			})
			d := run(t, c, p.config, "follow", "kind=configmap", "space="+ns, row.args)
			d.waitFor(0, moment, "synced")
			for n := range 20 {
				put(t, c, ns, fmt.Sprint("more-", n), nil)
				drop(t, c, ns, fmt.Sprint("o-", n))
				time.Sleep(50 * time.Millisecond)
			}
			v := sameAs(t, d, store, moment)
			if v.fulls != row.fulls || hits.Load() == 0 {
				t.Errorf("%d full states, want %d; meddled with %d times", v.fulls, row.fulls, hits.Load())
			}
		})
	}
}

// The server forgets what the list's later pages were to come from.
func TestAListWhoseVersionIsCompactedWhileItIsRead(t *testing.T) {
	t.Parallel()
	c := cluster.NewForTest(t, cluster.Options{Flags: map[string][]string{"kube-apiserver": {"--watch-cache=false"}}})
	for i := range 1200 {
		create(t, c, fmt.Sprint("o-", i))
	}
	forget := func(p **proxy, n int) func(http.ResponseWriter, *http.Request) bool {
		hit := times(n, asks("continue"))
		return func(_ http.ResponseWriter, r *http.Request) bool {
			if hit(r) {
				create(t, c, fmt.Sprint("meanwhile-", time.Now().UnixNano()))
				remove(t, c, "o-0")
				compact(t, c)
				create(t, c, "o-0")
			}
			return false
		}
	}
	var p *proxy
	t.Run("a call is told that its token has expired", func(t *testing.T) {
		p = newProxy(t, c, forget(&p, 1))
		last, _ := call(t, c, p.config, "list", "kind=configmap", "space=default", "quiet=1")
		if !strings.HasPrefix(last, "failed conflict 410 Expired The provided continue parameter is too old") {
			t.Errorf("said %q", last)
		}
	})
	t.Run("a watch reads a new full state, and has what client-go's informer has", func(t *testing.T) {
		store := informer(t, c)
		p = newProxy(t, c, forget(&p, 1))
		d := run(t, c, p.config, "follow", "kind=configmap", "space=default", "list=1")
		d.waitFor(0, moment, "synced")
		if v := sameAs(t, d, store, moment); v.fulls != 1 {
			t.Errorf("%d full states", v.fulls)
		}
		if n := len(p.asked(func(q url.Values) bool { return q.Has("limit") && !q.Has("continue") })); n < 2 {
			t.Errorf("the list was begun %d times", n)
		}
	})
}

// Bookmarks alone: nothing that passes the selector changes, and the version moves on nevertheless.
func TestAWatchResumesFromABookmark(t *testing.T) {
	t.Parallel()
	c := cluster.ForTest(t, cluster.Options{})
	ns := space(t, c, "bookmarks")
	p := newProxy(t, c, nil)
	put(t, c, ns, "wanted", map[string]string{"want": "yes"})
	d := run(t, c, p.config, "follow", "kind=configmap", "space="+ns, "labels=want=yes", "timeout=5", "versions=1")
	from := d.waitFor(0, moment, "synced")
	version := func(line string) string { return strings.Fields(line)[1] }
	first := d.wait(0, moment, "a version", func(line string) bool { return strings.HasPrefix(line, "version ") && len(line) > len("version ") })
	known := version(d.all()[first-1])
	for i := range 50 {
		put(t, c, ns, fmt.Sprint("other-", i), nil)
	}
	// The API server sends one shortly before the watch ends.
	next := d.wait(first, moment, "a bookmark", func(line string) bool {
		return strings.HasPrefix(line, "version ") && newer(version(line), known)
	})
	if n := count(d.all()[from:], "put"); n != 0 {
		t.Fatalf("%d objects were told, none has changed", n)
	}
	t.Run("the next watch begins at a bookmark's version", func(t *testing.T) {
		until(t, moment, "a watch from a bookmark", func() (bool, string) {
			marks := map[string]bool{}
			for _, line := range d.all() {
				if strings.HasPrefix(line, "version ") && newer(strings.Fields(line + " 0")[1], known) {
					marks[version(line)] = true
				}
			}
			for _, q := range p.asked(is("watch", "true")) {
				if marks[q.Get("resourceVersion")] {
					return true, ""
				}
			}
			return false, fmt.Sprint(p.asked(is("watch", "true")))
		})
	})
	t.Run("every watch asks for bookmarks", func(t *testing.T) {
		for _, q := range p.asked(func(q url.Values) bool { return q.Has("watch") }) {
			if q.Get("allowWatchBookmarks") != "true" {
				t.Errorf("%v", q)
			}
		}
	})
	t.Run("what changes between the bookmark and the next watch is told once", func(t *testing.T) {
		d.signal(unix.SIGSTOP)
		put(t, c, ns, "wanted", map[string]string{"want": "yes"}, "a", "b")
		put(t, c, ns, "second", map[string]string{"want": "yes"})
		p.server.CloseClientConnections()
		d.signal(unix.SIGCONT)
		d.waitFor(next, moment, "put "+ns+"/second")
		v := d.seen()
		if v.fulls != 1 || len(v.wrong) > 0 || len(v.objects) != 2 {
			t.Errorf("%d full states, %v, %q", v.fulls, v.objects, v.wrong)
		}
	})
}

// The full state as a stream.
func TestAStreamOfInitialEvents(t *testing.T) {
	t.Parallel()
	c := cluster.ForTest(t, cluster.Options{})
	ns := space(t, c, "stream")
	for i := range 700 {
		put(t, c, ns, fmt.Sprint("s-", i), nil)
	}
	p := newProxy(t, c, nil)
	d := run(t, c, p.config, "follow", "kind=configmap", "space="+ns, "timeout=2")
	synced := d.waitFor(0, moment, "synced")
	t.Run("is one request, a watch", func(t *testing.T) {
		if q := p.asked(func(url.Values) bool { return true })[0]; q.Get("watch") != "true" || q.Get("sendInitialEvents") != "true" ||
			q.Get("resourceVersionMatch") != "NotOlderThan" {
			t.Errorf("the first question was %v", q)
		}
		if n := len(p.asked(func(q url.Values) bool { return q.Has("limit") })); n != 0 {
			t.Errorf("%d lists", n)
		}
	})
	t.Run("ends with the bookmark that says so, after every object", func(t *testing.T) {
		if n := count(d.all()[:synced-1], "put"); n != 700 {
			t.Errorf("%d objects before the full state was told", n)
		}
		if v := strings.Fields(d.all()[synced-1])[1]; !newer(v, "1") {
			t.Errorf("its version is %q", v)
		}
	})
	t.Run("goes on as a watch of what comes after", func(t *testing.T) {
		put(t, c, ns, "after", nil)
		d.waitFor(synced, moment, "put "+ns+"/after")
	})
	t.Run("is not asked for again when the watch ends as agreed", func(t *testing.T) {
		until(t, moment, "two more watches", func() (bool, string) {
			return len(p.asked(is("watch", "true"))) >= 3, fmt.Sprint(len(p.asked(is("watch", "true"))))
		})
		if n := len(p.asked(is("sendInitialEvents", "true"))); n != 1 {
			t.Errorf("asked for %d times", n)
		}
	})
	t.Run("of nothing ends at once", func(t *testing.T) {
		d := run(t, c, p.config, "follow", "kind=configmap", "space="+space(t, c, "stream-empty"))
		d.waitFor(0, moment, "synced")
		if v := d.seen(); v.fulls != 1 || len(v.objects) != 0 {
			t.Errorf("%d full states, %v", v.fulls, v.objects)
		}
	})
}

// Selectors of lists and watches.
func TestSelectors(t *testing.T) {
	t.Parallel()
	c := cluster.ForTest(t, cluster.Options{})
	ns := space(t, c, "selectors")
	put(t, c, ns, "a", map[string]string{"team": "red", "stage": "one"})
	put(t, c, ns, "b", map[string]string{"team": "blue"})
	put(t, c, ns, "c", nil)
	for _, row := range []struct{ says, flag, want string }{
		{"equal", "labels=team=red", "a"},
		{"not equal takes those without the label too", "labels=team!=red", "b c"},
		{"there", "labels=team", "a b"},
		{"not there", "labels=!team", "c"},
		{"one of a set", "labels=team in (red,green)", "a"},
		{"none of a set", "labels=team notin (red,green)", "b c"},
		{"two terms must both hold", "labels=team,stage=one", "a"},
		{"one name", "fields=metadata.name=b", "b"},
		{"all names but one", "fields=metadata.name!=b", "a c"},
		{"a label and a name", "fields=metadata.name=b,metadata.namespace=selectors", "b"},
	} {
		t.Run("listed and watched: "+row.says, func(t *testing.T) {
			last, objects := call(t, c, c.Kubeconfig(), "list", "kind=configmap", "space="+ns, row.flag)
			want := strings.Fields(row.want)
			if last != fmt.Sprintf("done 200 %d", len(want)) {
				t.Errorf("said %q, want %d; %q", last, len(want), objects)
			}
			for _, how := range []string{"list=1", "stream=1"} {
				d := run(t, c, c.Kubeconfig(), "follow", "kind=configmap", "space="+ns, how, row.flag)
				d.waitFor(0, moment, "synced")
				v := d.seen()
				for _, name := range want {
					if v.objects[ns+"/"+name] == "" {
						t.Errorf("%s: %s is missing in %v", how, name, v.objects)
					}
				}
				if len(v.objects) != len(want) {
					t.Errorf("%s: %v", how, v.objects)
				}
			}
		})
	}
	t.Run("one object by its name: made, changed, deleted and made again, and nothing of its neighbours", func(t *testing.T) {
		d := run(t, c, c.Kubeconfig(), "follow", "kind=configmap", "space="+ns, "fields=metadata.name=only")
		from := d.waitFor(0, moment, "synced")
		for range 2 {
			put(t, c, ns, "neighbour", nil, "t", time.Now().String())
			put(t, c, ns, "only", nil)
			from = d.waitFor(from, moment, "put selectors/only")
			put(t, c, ns, "only", nil, "x", "y")
			from = d.waitFor(from, moment, "put selectors/only")
			drop(t, c, ns, "only")
			from = d.waitFor(from, moment, "gone selectors/only")
		}
		for _, line := range d.all() {
			if strings.Contains(line, "neighbour") {
				t.Errorf("told of %q", line)
			}
		}
	})
	t.Run("an object that comes into the selection is put, and one that leaves it is gone", func(t *testing.T) {
		d := run(t, c, c.Kubeconfig(), "follow", "kind=configmap", "space="+ns, "labels=in=yes")
		from := d.waitFor(0, moment, "synced")
		label := func(value string) {
			_, err := c.Client.CoreV1().ConfigMaps(ns).Patch(t.Context(), "c", types.MergePatchType,
				[]byte(`{"metadata":{"labels":{"in":`+value+`}}}`), metav1.PatchOptions{})
			cluster.Must(t, err)
		}
		label(`"yes"`)
		from = d.waitFor(from, moment, "put selectors/c")
		label(`null`)
		from = d.waitFor(from, moment, "gone selectors/c")
		label(`"yes"`)
		d.waitFor(from, moment, "put selectors/c")
	})
	t.Run("Pods by the node that they are bound to", func(t *testing.T) {
		d := run(t, c, c.Kubeconfig(), "follow", "kind=pod", "space="+ns, "fields=spec.nodeName=here")
		from := d.waitFor(0, moment, "synced")
		for _, node := range []string{"here", "there"} {
			pod := cluster.NewPod("on-"+node, "", "true")
			pod.Spec.NodeName, pod.Namespace = node, ns
			_, err := c.Client.CoreV1().Pods(ns).Create(t.Context(), pod, metav1.CreateOptions{})
			cluster.Must(t, err)
		}
		d.waitFor(from, moment, "put selectors/on-here")
		time.Sleep(200 * time.Millisecond)
		if v := d.seen(); len(v.objects) != 1 {
			t.Errorf("%v", v.objects)
		}
	})
}
