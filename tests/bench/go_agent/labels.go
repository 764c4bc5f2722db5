package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const nodeFeatures = "/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/default/nodefeatures"

// feature is what the agent has written last, and when.
type feature struct {
	text   string
	labels map[string]string
	at     time.Time
}

// serveFeatures is the part of the API server that has NodeFeatures; false: the request is about something else. Watches
// say nothing but their beginning: the agent is the only writer, and its own answers tell it.
func (s *apiServer) serveFeatures(w http.ResponseWriter, r *http.Request, body []byte) bool {
	if !strings.HasPrefix(r.URL.Path, nodeFeatures) {
		return false
	}
	if r.Method == http.MethodGet {
		if watch, _ := strconv.ParseBool(r.URL.Query().Get("watch")); watch {
			s.watch(w, r, "NodeFeature", "nfd.k8s-sigs.io/v1alpha1", false)
			return true
		}
		fmt.Fprintf(w, `{"kind":"NodeFeatureList","apiVersion":"nfd.k8s-sigs.io/v1alpha1","metadata":{"resourceVersion":"1"},"items":[]}`)
		return true
	}
	var got struct {
		Metadata object
		Spec     struct{ Labels map[string]string }
	}
	var whole object
	if json.Unmarshal(body, &got) != nil || json.Unmarshal(body, &whole) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	meta := whole["metadata"].(object)
	meta["namespace"], meta["uid"], meta["resourceVersion"] = "default", "1f1d3c52-7b0e-4c39-9a55-0d8f2b1e7a64", strconv.Itoa(s.version)
	text, _ := json.Marshal(whole)
	s.feature = feature{string(text), got.Spec.Labels, time.Now()}
	w.Write(text)
	return true
}

// labelled waits until the agent has written a label with that value, and says when.
func (s *apiServer) labelled(key, value string) (at time.Time, err error) {
	err = until(10*time.Second, "the label "+key, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		at = s.feature.at
		return s.feature.labels["nvidia.com/"+key] == value
	})
	return at, err
}

// labels measures how soon they follow.
func labels(api *apiServer) func(n *node) error {
	return func(n *node) error {
		var starts, changes times
		for range turns {
			api.mu.Lock()
			api.feature = feature{}
			api.mu.Unlock()
			n.stop()
			if err := n.start("--mig-strategy=mixed"); err != nil {
				return err
			}
			at, err := api.labelled("gpu.count", strconv.Itoa(cards))
			if err != nil {
				return err
			}
			starts = append(starts, at.Sub(n.began))
		}
		if err := n.kubelet.served(cards); err != nil {
			return err
		}
		if err := until(5*time.Second, "both children", n.settled); err != nil {
			return err
		}
		if err := n.fake("say", "mig", "0", "on"); err != nil {
			return err
		}
		for i := range turns {
			partition := exec.Command(filepath.Join(n.build, "tests/fake/partition"), n.path("fake", "root", driver, "libnvidia-ml.so.1"), "0", "1g.10gb")
			began := time.Now()
			if said, err := partition.CombinedOutput(); err != nil {
				return fmt.Errorf("partition: %w: %s", err, said)
			}
			at, err := api.labelled("mig-1g.10gb.count", strconv.Itoa(i+1))
			if err != nil {
				return err
			}
			changes = append(changes, at.Sub(began))
		}
		note("process start to NodeFeature: %v; MIG device to labels: %v", starts, changes)
		row("process start to NodeFeature, driver answering at once, max", starts.at(1).Seconds()*1000, "ms", 250)
		row("MIG device made to labels, max", changes.at(1).Seconds()*1000, "ms", 1000)
		return nil
	}
}
