/* wishes.h - a capability that wants exactly the Resources that a text names: what stands in for the agent's plans
 * where only the kubelet's side is tested.
 *
 *     wishes_sources(loop, &plugins, err);        sources and the capability
 *     plugins = fl_plugins_new(io, loop, &options, err);
 *     wishes_put(loop,
 *     "[{\"metadata\":{\"name\":\"nvidia.com/gpu\"},\"units\":[{\"id\":\"GPU-0\",\"healthy\":true}]}]", err);
 */
#pragma once
#include "node/kubelet/plugin.h"

int wishes_sources(struct fl_loop *loop, struct fl_plugins **plugins, struct fl_err *err) FL_MUSTUSE;

/* Nothing but these is wanted from now on: a JSON list of Resources. FL_E_INVALID: it is none. */
int wishes_put(struct fl_loop *loop, struct fl_str json, struct fl_err *err) FL_MUSTUSE;
