#include "local/api_in.h"
#include "json/time.h"

yyjson_mut_val *fl_meta(yyjson_mut_val *object)
{
	return fl_tree_get(object, FL_S("metadata"));
}

bool fl_tree_set(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name, struct fl_str text)
{
	yyjson_mut_val *val = yyjson_mut_strncpy(doc, text.len ? text.p : "", text.len);

	return val && fl_tree_put(doc, object, fl_str(name), val);
}

bool fl_tree_set_int(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name, int64_t number)
{
	yyjson_mut_val *val = yyjson_mut_sint(doc, number);

	return val && fl_tree_put(doc, object, fl_str(name), val);
}

bool fl_tree_set_time(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name, int64_t us)
{
	char text[FL_TIME_TEXT];
	uint32_t len = fl_time_print(us - us % 1000000, text);

	return fl_tree_set(doc, object, name, (struct fl_str){ text, len });
}

/* The member, an object or a list; made where it is not there or is another kind of value. NULL: allocation failed. */
yyjson_mut_val *fl_tree_object(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name)
{
	yyjson_mut_val *val = fl_tree_get(object, fl_str(name));

	if (yyjson_mut_is_obj(val))
		return val;
	val = yyjson_mut_obj(doc);
	/* A value of another kind gives its place: the new one stands there. */
	return val && fl_tree_put(doc, object, fl_str(name), val) ? fl_tree_get(object, fl_str(name)) : NULL;
}

yyjson_mut_val *fl_tree_list(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name)
{
	yyjson_mut_val *val = fl_tree_get(object, fl_str(name));

	if (yyjson_mut_is_arr(val))
		return val;
	val = yyjson_mut_arr(doc);
	/* A value of another kind gives its place: the new one stands there. */
	return val && fl_tree_put(doc, object, fl_str(name), val) ? fl_tree_get(object, fl_str(name)) : NULL;
}

yyjson_mut_val *fl_tree_at(yyjson_mut_val *object, struct fl_str path)
{
	struct fl_str name;

	while (object && path.p && fl_str_split(&path, '.', &name))
		object = fl_tree_get(object, name);
	return object;
}

bool fl_tree_i64(yyjson_mut_val *val, int64_t *ret)
{
	return fl_json_i64((const yyjson_val *)val, ret);   /* a number lies alike in both */
}

/* ---- finalizers: a list of texts ---- */

bool fl_list_has(yyjson_mut_val *list, struct fl_str text)
{
	yyjson_mut_val *one;
	size_t i, n;

	yyjson_mut_arr_foreach(list, i, n, one)
	{
		if (fl_str_eq(fl_tree_str(one), text))
			return true;
	}
	return false;
}

void fl_list_remove(yyjson_mut_val *list, struct fl_str text)
{
	for (size_t i = 0; i < yyjson_mut_arr_size(list);) {
		if (fl_str_eq(fl_tree_str(yyjson_mut_arr_get(list, i)), text))
			(void)yyjson_mut_arr_remove(list, i);
		else
			i++;
	}
}

bool fl_list_add(yyjson_mut_doc *doc, yyjson_mut_val *list, struct fl_str text)
{
	return fl_list_has(list, text) || yyjson_mut_arr_add_strncpy(doc, list, text.p, text.len);
}

/* ---- printing ---- */

static void print_meta(struct fl_jw *w, yyjson_mut_val *meta, uint64_t version)
{
	yyjson_mut_obj_iter iter;
	yyjson_mut_val *key;

	fl_jw_obj(w);
	yyjson_mut_obj_iter_init(meta, &iter);
	while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
		struct fl_str name = fl_tree_str(key);

		if (fl_str_eq(name, FL_S("resourceVersion")))
			continue;
		fl_jw_key(w, name);
		fl_jw_mut(w, yyjson_mut_obj_iter_get_val(key));
	}
	if (version) {
		fl_jw_key(w, FL_S("resourceVersion"));
		fl_buf_char(w->buf, '"');
		fl_buf_uint(w->buf, version);
		fl_buf_char(w->buf, '"');
		w->comma = true;
	}
	fl_jw_end_obj(w);
}

/* The members of an object but apiVersion and kind; the braces are the caller's. */
void fl_object_print(struct fl_jw *w, yyjson_mut_val *object, uint64_t version)
{
	yyjson_mut_obj_iter iter;
	yyjson_mut_val *key;

	yyjson_mut_obj_iter_init(object, &iter);
	while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
		struct fl_str name = fl_tree_str(key);

		if (fl_str_eq(name, FL_S("apiVersion")) || fl_str_eq(name, FL_S("kind")))
			continue;
		fl_jw_key(w, name);
		if (fl_str_eq(name, FL_S("metadata")))
			print_meta(w, yyjson_mut_obj_iter_get_val(key), version);
		else
			fl_jw_mut(w, yyjson_mut_obj_iter_get_val(key));
	}
}

/* ---- from and to a state ---- */

struct fl_str fl_api_call_api_version(struct fl_api_call *call)
{
	const struct fl_str parts[] = { call->resource->group, FL_S("/"), call->version };

	return parts[0].len ? fl_arena_join(&call->arena, parts, FL_LEN(parts)) : call->version;
}

/* A tree of a state, whole, but without its resourceVersion. NULL: allocation failed. */
yyjson_mut_val *fl_api_call_tree(struct fl_api_call *call, const struct fl_state *state)
{
	struct fl_str version = fl_api_call_api_version(call);
	yyjson_mut_val *object;
	yyjson_doc *doc;

	if (!version.p || fl_json_read(&call->space, fl_state_json(state), 0, &doc, NULL) < 0)
		return NULL;
	object = fl_tree_of(call->doc, yyjson_doc_get_root(doc), NULL);
	if (!object || !fl_tree_set(call->doc, object, "apiVersion", version) ||
	    !fl_tree_set(call->doc, object, "kind", call->resource->kind))
		return NULL;
	fl_tree_remove(fl_meta(object), FL_S("resourceVersion"));
	return object;
}

/* The state that the store takes as its next change. NULL: allocation failed, or it is too large. */
struct fl_state *fl_api_call_state(struct fl_api_call *call, yyjson_mut_val *object)
{
	yyjson_mut_val *meta = fl_meta(object);
	struct fl_jw w = FL_JW(&call->body);
	struct fl_state *state;

	fl_buf_clear(&call->body);
	fl_buf_char(&call->body, '{');
	fl_object_print(&w, object, fl_store_next(&call->api->store));
	fl_buf_char(&call->body, '}');
	state = call->body.failed ? NULL : fl_state_new(call->resource->cluster ? FL_S("") : call->space_name,
			call->name,
							fl_buf_view(&call->body));
	fl_buf_clear(&call->body);
	if (!state)
		return NULL;
	state->going = fl_tree_get(meta, FL_S("deletionTimestamp")) != NULL;
	state->owned = yyjson_mut_arr_size(fl_tree_get(meta, FL_S("ownerReferences"))) > 0;
	return state;
}
