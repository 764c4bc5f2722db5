// Package crd installs the demo kind's CRD in a real API server and holds it to every promise of its table.
//
// The program tests/api/demo_cases.c prints the CRD, and for each row of the table what must be stored, defaulted or
// refused. What it prints is all that this test knows of the kind.
package crd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"fairlead/tests/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }

type object = map[string]any

type promise struct {
	Path, Says, Message string
	Old, Now            object
	Stored              any
	Absent              bool
}

type table struct {
	CRD                    object
	Group, Version, Kind   string
	Plural                 string
	ShortNames, Categories []string
	Selectable             []string
	Columns                []struct {
		Name, Path, Condition string
		Priority              int64
	}
	Cases []promise
}

// printed runs the program and reads what it printed.
func printed(t *testing.T) *table {
	t.Helper()
	build := os.Getenv("FAIRLEAD_BUILD")
	if build == "" {
		build = filepath.Join("..", "..", "..", "build")
	}
	text, err := exec.CommandContext(t.Context(), filepath.Join(build, "tests", "demo_cases")).Output()
	if err != nil {
		t.Fatalf("demo_cases: %v; ./dev build makes it, FAIRLEAD_BUILD names another build folder", err)
	}
	var table table
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	cluster.Must(t, decoder.Decode(&table))
	numbers(table.CRD)
	for i := range table.Cases {
		p := &table.Cases[i]
		numbers(p.Old)
		numbers(p.Now)
		p.Stored = numbers(p.Stored)
	}
	return &table
}

// numbers turns the digits in a value into what the API's own decoder makes of them, integers where it can.
func numbers(v any) any {
	switch in := v.(type) {
	case object:
		for key := range in {
			in[key] = numbers(in[key])
		}
	case []any:
		for i := range in {
			in[i] = numbers(in[i])
		}
	case json.Number:
		if integer, err := in.Int64(); err == nil {
			return integer
		}
		fraction, _ := in.Float64()
		return fraction
	}
	return v
}

// rockets installs the CRD and returns the resource, once it is served.
func rockets(t *testing.T) (*cluster.Cluster, *table, dynamic.ResourceInterface) {
	t.Helper()
	c, table := cluster.ForTest(t, cluster.Options{}), printed(t)
	crds := c.Dynamic.Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	crd := &unstructured.Unstructured{Object: table.CRD}
	// Applied strictly: a field of ours that the API server does not know would be an error here.
	_, err := crds.Apply(t.Context(), crd.GetName(), crd, metav1.ApplyOptions{FieldManager: "test", Force: true})
	cluster.Must(t, err)
	resource := c.Dynamic.Resource(schema.GroupVersionResource{
		Group: table.Group, Version: table.Version, Resource: table.Plural}).Namespace("default")
	eventually(t, func() error {
		_, err := resource.List(t.Context(), metav1.ListOptions{})
		return err
	})
	got, err := crds.Get(t.Context(), crd.GetName(), metav1.GetOptions{})
	cluster.Must(t, err)
	conditions, _, _ := unstructured.NestedSlice(got.Object, "status", "conditions")
	for _, each := range conditions {
		condition := each.(object)
		if condition["type"] == "NonStructuralSchema" && condition["status"] == "True" {
			t.Fatalf("the schema is not structural: %v", condition["message"])
		}
	}
	return c, table, resource
}

func eventually(t *testing.T, try func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err = try(); err == nil {
			return
		}
	}
	t.Fatal(err)
}

// named gives an object the parts that every object has.
func (table *table) named(o object, name string) *unstructured.Unstructured {
	whole := object{}
	for key, value := range o {
		whole[key] = value
	}
	whole["apiVersion"], whole["kind"] = table.Group+"/"+table.Version, table.Kind
	whole["metadata"] = object{"name": name}
	return &unstructured.Unstructured{Object: whole}
}

// write stores old (when there is one) and then now; the last answer counts. A status goes in by its own door.
func (table *table) write(ctx context.Context, in dynamic.ResourceInterface, name string, p promise) (
	*unstructured.Unstructured, error) {
	if strings.HasPrefix(p.Path, "/status") {
		base, err := in.Create(ctx, table.named(object{"spec": p.Now["spec"]}, name), metav1.CreateOptions{})
		if err != nil {
			return nil, fmt.Errorf("without status: %w", err)
		}
		now := table.named(p.Now, name)
		now.SetResourceVersion(base.GetResourceVersion())
		return in.UpdateStatus(ctx, now, metav1.UpdateOptions{})
	}
	if p.Old == nil {
		return in.Create(ctx, table.named(p.Now, name), metav1.CreateOptions{})
	}
	old, err := in.Create(ctx, table.named(p.Old, name), metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("what was there before: %w", err)
	}
	now := table.named(p.Now, name)
	now.SetResourceVersion(old.GetResourceVersion())
	return in.Update(ctx, now, metav1.UpdateOptions{})
}

// at follows a JSON pointer; nil when it leads nowhere.
func at(o any, pointer string) any {
	for _, step := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		switch in := o.(type) {
		case object:
			o = in[step]
		case []any:
			if step != "0" || len(in) == 0 {
				return nil
			}
			o = in[0]
		default:
			return nil
		}
	}
	return o
}

// holds says whether all of want is in got; got may have more, where defaults came in.
func holds(got, want any) bool {
	if w, ok := want.(object); ok {
		g, ok := got.(object)
		if !ok {
			return false
		}
		for key, value := range w {
			if !holds(g[key], value) {
				return false
			}
		}
		return true
	}
	if w, ok := want.([]any); ok {
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for i := range w {
			if !holds(g[i], w[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(got, want) || fmt.Sprint(got) == fmt.Sprint(want) // 1 and 1.0
}

func TestCRDEveryRowOfTheTable(t *testing.T) {
	_, table, in := rockets(t)
	if len(table.Cases) < 300 {
		t.Fatalf("only %d cases; did the table shrink?", len(table.Cases))
	}
	for i, p := range table.Cases {
		t.Run(strings.Trim(p.Path, "/")+": "+p.Says, func(t *testing.T) {
			got, err := table.write(t.Context(), in, fmt.Sprintf("case-%d", i), p)
			now, _ := json.Marshal(p.Now)
			switch {
			case p.Message == "" && err != nil:
				t.Fatalf("%s\nwas refused: %v", now, err)
			case p.Message != "" && err == nil:
				t.Fatalf("%s\nwas accepted, but %q was promised", now, p.Message)
			case p.Message != "" && !strings.Contains(err.Error(), p.Message):
				t.Fatalf("%s\nwas refused with %v\nbut %q was promised", now, err, p.Message)
			case err != nil:
				return
			}
			stored := at(got.Object, p.Path)
			if p.Absent && stored != nil {
				t.Fatalf("%s is %v, and should be absent", p.Path, stored)
			}
			if p.Stored != nil && !holds(stored, p.Stored) {
				t.Fatalf("%s is %v, and should be %v", p.Path, stored, p.Stored)
			}
			if text, _ := json.Marshal(got.Object); strings.Contains(string(text), "noSuchField") {
				t.Fatalf("stored what no row names: %s", text)
			}
		})
	}
}

func TestCRDNamesAndCategories(t *testing.T) {
	c, table, _ := rockets(t)
	list, err := c.Client.Discovery().ServerResourcesForGroupVersion(table.Group + "/" + table.Version)
	cluster.Must(t, err)
	found := map[string]metav1.APIResource{}
	for _, resource := range list.APIResources {
		found[resource.Name] = resource
	}
	main, ok := found[table.Plural]
	if !ok || main.Kind != table.Kind || main.SingularName != strings.ToLower(table.Kind) ||
		!slices.Equal(main.ShortNames, table.ShortNames) || !slices.Equal(main.Categories, table.Categories) {
		t.Fatalf("discovery says %+v", main)
	}
	for _, sub := range []string{"status", "scale"} {
		if _, ok := found[table.Plural+"/"+sub]; !ok {
			t.Errorf("no subresource %s", sub)
		}
	}
	for _, name := range append(slices.Clone(table.ShortNames), table.Plural, strings.ToLower(table.Kind)) {
		_, err := c.Kubectl(t.Context(), "get", name)
		cluster.Must(t, err)
	}
}

// full is an object in which every column has something to show.
func full(t *testing.T, table *table, in dynamic.ResourceInterface, name string) *unstructured.Unstructured {
	t.Helper()
	o, err := in.Create(t.Context(), table.named(object{"spec": object{
		"displayName": name, "armed": true, "serial": int64(7), "replicas": int64(3),
		"launchTime": "2026-01-31T12:00:00Z",
	}}, name), metav1.CreateOptions{})
	cluster.Must(t, err)
	o.Object["status"] = object{"phase": "Flying", "replicas": int64(2), "selector": "a=b",
		"capacity": object{"total": int64(9)}, "conditions": []any{object{"type": "Ready", "status": "True",
			"reason": "Fine", "message": "", "lastTransitionTime": "2026-01-31T12:00:00Z"}}}
	o, err = in.UpdateStatus(t.Context(), o, metav1.UpdateOptions{})
	cluster.Must(t, err)
	t.Cleanup(func() { in.Delete(context.Background(), name, metav1.DeleteOptions{}) })
	return o
}

func TestCRDPrinterColumns(t *testing.T) {
	c, table, in := rockets(t)
	o := full(t, table, in, "columns")
	text, err := c.Client.Discovery().RESTClient().Get().
		AbsPath("/apis", table.Group, table.Version, "namespaces/default", table.Plural, "columns").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(t.Context()).Raw()
	cluster.Must(t, err)
	var shown metav1.Table
	cluster.Must(t, json.Unmarshal(text, &shown))
	columns, cells := shown.ColumnDefinitions[1:], shown.Rows[0].Cells[1:] // the first is the object's name
	if len(columns) != len(table.Columns) {
		t.Fatalf("%d columns, and should be %d", len(columns), len(table.Columns))
	}
	for i, want := range table.Columns {
		if columns[i].Name != want.Name || int64(columns[i].Priority) != want.Priority {
			t.Errorf("column %d is %+v, and should be %+v", i, columns[i], want)
		}
		switch {
		case want.Condition != "":
			if cells[i] != "True" {
				t.Errorf("%s shows %v", want.Name, cells[i])
			}
		case columns[i].Type == "date":
			if cells[i] == nil || cells[i] == "<unknown>" {
				t.Errorf("%s shows %v", want.Name, cells[i])
			}
		default:
			value := at(o.Object, strings.ReplaceAll(want.Path, ".", "/"))
			if value == nil || fmt.Sprint(value) != fmt.Sprint(cells[i]) {
				t.Errorf("%s shows %v, and should show %v", want.Name, cells[i], value)
			}
		}
	}
}

func TestCRDSelectableFields(t *testing.T) {
	_, table, in := rockets(t)
	o := full(t, table, in, "select")
	if len(table.Selectable) == 0 {
		t.Fatal("the table has no selectable field")
	}
	for _, path := range table.Selectable {
		value := fmt.Sprint(at(o.Object, strings.ReplaceAll(path, ".", "/")))
		list, err := in.List(t.Context(), metav1.ListOptions{FieldSelector: path + "=" + value})
		cluster.Must(t, err)
		if !slices.ContainsFunc(list.Items, func(i unstructured.Unstructured) bool { return i.GetName() == "select" }) {
			t.Errorf("%s=%s does not find it", path, value)
		}
		list, err = in.List(t.Context(), metav1.ListOptions{FieldSelector: path + "!=" + value})
		cluster.Must(t, err)
		if slices.ContainsFunc(list.Items, func(i unstructured.Unstructured) bool { return i.GetName() == "select" }) {
			t.Errorf("%s!=%s finds it", path, value)
		}
	}
	if _, err := in.List(t.Context(), metav1.ListOptions{FieldSelector: "spec.color=red"}); err == nil {
		t.Error("a field that is not selectable selects")
	}
}

func TestCRDStatusAndScaleAreDoorsOfTheirOwn(t *testing.T) {
	_, table, in := rockets(t)
	o := full(t, table, in, "doors")
	o.Object["status"] = object{"phase": "Landed"}
	o, err := in.Update(t.Context(), o, metav1.UpdateOptions{})
	cluster.Must(t, err)
	if at(o.Object, "/status/phase") != "Flying" {
		t.Errorf("a write of the object has changed its status to %v", at(o.Object, "/status/phase"))
	}
	scale, err := in.Get(t.Context(), "doors", metav1.GetOptions{}, "scale")
	cluster.Must(t, err)
	if at(scale.Object, "/spec/replicas") != int64(3) || at(scale.Object, "/status/replicas") != int64(2) ||
		at(scale.Object, "/status/selector") != "a=b" {
		t.Errorf("the scale is %v", scale.Object)
	}
}

// A list-map has an owner for each of its elements, an atomic object one for the whole.
func TestCRDElementsHaveOwnersOfTheirOwn(t *testing.T) {
	_, table, in := rockets(t)
	apply := func(manager string, port string) error {
		_, err := in.Apply(t.Context(), "owners", table.named(object{"spec": object{"displayName": "r",
			"ports": []any{object{"name": port, "number": int64(1)}}}}, "owners"),
			metav1.ApplyOptions{FieldManager: manager})
		return err
	}
	cluster.Must(t, apply("one", "a"))
	cluster.Must(t, apply("two", "b"))
	got, err := in.Get(t.Context(), "owners", metav1.GetOptions{})
	cluster.Must(t, err)
	if ports, _, _ := unstructured.NestedSlice(got.Object, "spec", "ports"); len(ports) != 2 {
		t.Errorf("the ports are %v, and should be two", ports)
	}
	selector := func(manager, key string) error {
		_, err := in.Apply(t.Context(), "owners", table.named(object{"spec": object{"displayName": "r",
			"nodeSelector": object{"matchLabels": object{key: "1"}}}}, "owners"),
			metav1.ApplyOptions{FieldManager: manager})
		return err
	}
	cluster.Must(t, selector("three", "x"))
	if err := selector("four", "y"); err == nil || !strings.Contains(err.Error(), "conflict") {
		t.Errorf("a selector has two owners: %v", err)
	}
}
