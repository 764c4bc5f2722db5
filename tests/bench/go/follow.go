package main

import (
	"fmt"
	"sort"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// informer makes one as people make them, over JSON.
func informer(config *rest.Config, how string) (cache.SharedIndexInformer, error) {
	if how == "typed" {
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		return informers.NewSharedInformerFactory(client, 0).Core().V1().Pods().Informer(), nil
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	return dynamicinformer.NewDynamicSharedInformerFactory(client, 0).ForResource(pods).Informer(), nil
}

// follow reads all Pods, and then waits for changes whose resourceVersion says when they were sent.
func follow(kubeconfig, how string, events int) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1 // or it would wait between pages
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	pods, err := informer(config, how)
	if err != nil {
		return err
	}
	late := make([]int64, 0, events)
	done, stop := make(chan struct{}), make(chan struct{})
	registration, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, object any) {
			now := monotonic()
			accessor, err := meta.Accessor(object)
			if err != nil {
				panic(err)
			}
			sent, err := strconv.ParseInt(accessor.GetResourceVersion(), 10, 64)
			if err != nil {
				panic(err)
			}
			if len(late) < events {
				if late = append(late, now-sent); len(late) == events {
					close(done)
				}
			}
		},
	})
	if err != nil {
		return err
	}
	began := time.Now()
	go pods.Run(stop)
	if !cache.WaitForCacheSync(stop, pods.HasSynced, registration.HasSynced) {
		return fmt.Errorf("the informer did not sync")
	}
	err = say(map[string]any{"objects": len(pods.GetStore().ListKeys()), "cpu_s": cpu(),
		"wall_s": time.Since(began).Seconds(), "rss_kib": peak()})
	if err != nil || events == 0 {
		return err
	}
	before := cpu()
	<-done
	sort.Slice(late, func(i, j int) bool { return late[i] < late[j] })
	return say(map[string]any{"p50_us": float64(late[events/2]) / 1e3, "p99_us": float64(late[events*99/100]) / 1e3,
		"cpu_us": (cpu() - before) / float64(events) * 1e6})
}
