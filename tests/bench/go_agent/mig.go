package main

import (
	"strconv"
	"time"
)

const migConfig = "nvidia.com/mig.config"

// ask gives the Node the label that names a layout.
func (s *apiServer) ask(layout string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	labels := s.node["metadata"].(object)["labels"].(object)
	delete(labels, migConfig+".state")
	labels[migConfig] = layout
	s.version++
	s.changed.Broadcast()
}

// applied waits until the agent says that all GPUs have it.
func (s *apiServer) applied() error {
	return until(20*time.Second, "the state of the layout", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.node["metadata"].(object)["labels"].(object)[migConfig+".state"] == "success"
	})
}

// layouts measures how long it takes to make seven MIG devices on each GPU, which are in MIG mode: 56 steps, each on the disk
// before it is done, and read back after it.
func layouts(api *apiServer) func(n *node) error {
	return func(n *node) error {
		var applied times
		for range turns {
			n.stop()
			for gpu := range cards {
				for _, mode := range []string{"off", "on"} {
					if err := n.fake("say", "mig", strconv.Itoa(gpu), mode); err != nil {
						return err
					}
				}
			}
			api.ask("all-enabled")
			if err := n.start("--mig-strategy=mixed", "--mig-manager=true"); err != nil {
				return err
			}
			if err := api.applied(); err != nil {
				return err
			}
			if err := until(5*time.Second, "both children", n.settled); err != nil {
				return err
			}
			began := time.Now()
			api.ask("all-1g.10gb")
			if err := api.applied(); err != nil {
				return err
			}
			applied = append(applied, time.Since(began))
		}
		note("seven MIG devices on each GPU: %v", applied)
		row("MIG layout of 7 on each of 8 GPUs applied, each step durable, p50", applied.at(0.5).Seconds()*1000, "ms", 150)
		return nil
	}
}
