package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	pods "k8s.io/kubelet/pkg/apis/podresources/v1"
)

const (
	instances   = 7  // MIG devices of each card
	sharers     = 2  // of each MIG device
	holders     = 80 // Pods, each with a share
	scrapes     = 100_000
	scrapeEvery = 15 * time.Second // of a Prometheus that scrapes DCGM's exporter, as its chart says
)

// hold lets Pods have these devices, one each, by the kubelet's word.
func (k *kubelet) hold(ids []string) {
	list := &pods.ListPodResourcesResponse{}
	for i, id := range ids {
		list.PodResources = append(list.PodResources, &pods.PodResources{Name: fmt.Sprintf("trainer-%d", i), Namespace: "research",
			Containers: []*pods.ContainerResources{{Name: "main", Devices: []*pods.ContainerDevices{
				{ResourceName: "nvidia.com/gpu", DeviceIds: []string{id}}}}}})
	}
	k.held.Store(list)
}

// partition cuts every card into seven. The driver's files follow until the end.
func (n *node) partition() (stop func(), err error) {
	follow := exec.Command(filepath.Join(n.build, "tests/fake/fakectl"), "follow", n.path("fake"))
	follow.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := follow.Start(); err != nil {
		return nil, err
	}
	stop = func() { follow.Process.Kill(); follow.Wait() }
	for i := range cards {
		if err := n.fake("say", "mig", strconv.Itoa(i), "on"); err != nil {
			return stop, err
		}
		words := []string{n.path("fake", "root", driver, "libnvidia-ml.so.1"), strconv.Itoa(i)}
		said, err := exec.Command(filepath.Join(n.build, "tests/fake/partition"),
			append(words, slices.Repeat([]string{"1g.10gb"}, instances)...)...).CombinedOutput()
		if err != nil {
			return stop, fmt.Errorf("partition %v: %w: %s", words, err, said)
		}
	}
	return stop, nil
}

// scraper asks on one connection, as Prometheus does.
type scraper struct{ client http.Client }

func (s *scraper) scrape() (string, time.Duration, error) {
	began := time.Now()
	got, err := s.client.Get("http://exporter/metrics")
	if err != nil {
		return "", 0, err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err == nil && got.StatusCode != http.StatusOK {
		err = fmt.Errorf("a scrape is answered with %s", got.Status)
	}
	return string(text), time.Since(began), err
}

// scraped is a load of so many, one after the other.
func (s *scraper) scraped(count int) (took times, err error) {
	for range count {
		_, one, err := s.scrape()
		if err != nil {
			return nil, err
		}
		took = append(took, one)
	}
	return took, nil
}

// telemetry is a node with 56 MIG devices, each shared by two, that 80 Pods use while it is scraped.
func telemetry(span time.Duration) func(n *node) error {
	return func(n *node) error {
		stop, err := n.partition()
		if stop != nil {
			defer stop()
		}
		if err != nil {
			return err
		}
		config := n.path("config.yaml")
		if err := os.WriteFile(config, fmt.Appendf(nil,
			"version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: %d}]}}\n", sharers), 0o600); err != nil {
			return err
		}
		if err := n.start("--config-file="+config, "--mig-strategy=single"); err != nil {
			return err
		}
		if err := n.kubelet.served(cards * instances * sharers); err != nil {
			return err
		}
		n.kubelet.hold(slices.Sorted(maps.Keys(n.kubelet.healthy))[:holders])
		s := &scraper{http.Client{Transport: unixTransport(n.path("metrics.sock"))}}
		defer s.client.CloseIdleConnections()
		var text string
		err = until(time.Minute, "a line for each of 80 Pods", func() bool {
			text, _, err = s.scrape()
			named := 0
			for _, line := range strings.Split(text, "\n") {
				if strings.HasPrefix(line, "DCGM_FI_DEV_FB_USED{") && strings.Contains(line, `pod="trainer-`) {
					named++
				}
			}
			return err != nil || named == holders
		})
		if err != nil {
			return err
		}
		note("a scrape has %d lines, %.0f KiB", strings.Count(text, "\n"), float64(len(text))/1024)
		return errors.Join(n.scrapedSeldom(s, span), n.scrapedOften(s))
	}
}

func (n *node) scrapedSeldom(s *scraper, span time.Duration) error {
	n.rest()
	pids := append(n.children(), n.agent.Process.Pid)
	before, err := cpu(pids...)
	if err != nil {
		return err
	}
	began := time.Now()
	for end := began.Add(span); time.Now().Before(end); time.Sleep(min(scrapeEvery, time.Until(end))) {
		if _, _, err := s.scrape(); err != nil {
			return err
		}
	}
	after, err := cpu(pids...)
	if err == nil {
		row("agent and its children, 56 MIG devices, 80 Pods, a scrape each 15 s",
			100*(after-before).Seconds()/time.Since(began).Seconds(), "% of a core", 0.1)
	}
	return err
}

func (n *node) scrapedOften(s *scraper) error {
	if _, err := s.scraped(scrapes / warmPart); err != nil {
		return err
	}
	before, err := n.warm()
	if err != nil {
		return err
	}
	spent, err := cpu(n.agent.Process.Pid)
	if err != nil {
		return err
	}
	took, err := s.scraped(scrapes - scrapes/warmPart)
	if err != nil {
		return err
	}
	after, err := cpu(n.agent.Process.Pid)
	if err != nil {
		return err
	}
	note("a scrape: %v; the agent's own time: %.0f us", took, us(after-spent)/float64(len(took)))
	row("a scrape of 56 MIG devices and 80 Pods, p99", ms(took.at(0.99)), "ms", 5)
	return n.grown(before, "after 100,000 scrapes of 56 MIG devices and 80 Pods")
}

func (k *kubelet) List(context.Context, *pods.ListPodResourcesRequest) (*pods.ListPodResourcesResponse, error) {
	if held := k.held.Load(); held != nil {
		return held, nil
	}
	return &pods.ListPodResourcesResponse{}, nil
}
