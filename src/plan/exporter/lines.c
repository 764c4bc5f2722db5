#include "plan/exporter/lines.h"
#include "base/metrics.h"
#include "plan/gpu/health.h"
#include "plan/gpu/ids.h"
#include <math.h>
#include <stdio.h>

#define LABELS_MAX (4 * FL_KIB)         /* of one line: a dozen labels, each a Kubernetes name or less */

_Static_assert(FL_DCGM_NVLINK_CRC_FLIT_L + 4 - FL_DCGM_NVLINK_CRC_FLIT_L +
			       (FL_DCGM_NVLINK_COUNT_EFFECTIVE_ERRORS + 1 - FL_DCGM_NVLINK_COUNT_TX_PACKETS) ==
		       FL_DCGM_LINK_FIELDS,
	       "room for each field of a link");

int fl_dcgm_link_field(uint32_t id)
{
	if (id >= FL_DCGM_NVLINK_COUNT_TX_PACKETS && id <= FL_DCGM_NVLINK_COUNT_EFFECTIVE_ERRORS)
		return (int)(id - FL_DCGM_NVLINK_COUNT_TX_PACKETS);
	if (id >= FL_DCGM_NVLINK_CRC_FLIT_L && id < FL_DCGM_NVLINK_CRC_FLIT_L + 4)
		return FL_DCGM_LINK_FIELDS - 4 + (int)(id - FL_DCGM_NVLINK_CRC_FLIT_L);
	return -1;
}

void fl_dcgm_clear(struct fl_dcgm_gpu *gpu)
{
	for (uint32_t i = 0; i < FL_DCGM_COUNT; i++)
		gpu->at[i] = NAN;
	for (uint32_t i = 0; i < FL_DCGM_LINKS; i++)
		for (uint32_t k = 0; k < FL_DCGM_LINK_FIELDS; k++)
			gpu->links[i][k] = NAN;
	gpu->part_len = gpu->link_len = 0;
	gpu->serial[0] = gpu->vbios[0] = '\0';
}

/* ---- labels ---- */

static void label(struct fl_buf *buf, const char *name, struct fl_str value)
{
	fl_buf_printf(buf, "%s%s=\"", buf->len ? "," : "", name);
	fl_metrics_put_text(buf, value, true);
	fl_buf_char(buf, '"');
}

static void number(struct fl_buf *buf, const char *name, int64_t value)
{
	fl_buf_printf(buf, "%s%s=\"%lld\"", buf->len ? "," : "", name, (long long)value);
}

/* "00000000:07:00.0" of "0000:07:00.0" */
static void bus_id(struct fl_buf *buf, const char *name, struct fl_str address)
{
	char text[24] = "0000";
	struct fl_buf upper = { .p = text, .len = 4, .cap = sizeof text, .max = sizeof text - 1 };

	for (uint32_t i = 0; i < address.len; i++)
		fl_buf_char(&upper, (char)(address.p[i] >= 'a' && address.p[i] <= 'f' ? address.p[i] - 'a' + 'A' :
											address.p[i]));
	label(buf, name, fl_buf_view(&upper));
}

static void model(struct fl_buf *buf, const struct fl_dcgm_style *style, const char *name, struct fl_str product)
{
	char text[128] = "";
	struct fl_buf plain = FL_BUF_IN(text);

	for (uint32_t i = 0; i < product.len && i < sizeof text - 1; i++)
		fl_buf_char(&plain, style->no_blanks && product.p[i] == ' ' ? '-' : product.p[i]);
	label(buf, name, fl_buf_view(&plain));
}

static void device(struct fl_buf *buf, int32_t index)
{
	fl_buf_printf(buf, ",device=\"nvidia%d\"", index);
}

static void host_names(struct fl_buf *buf, const struct fl_dcgm_style *style)
{
	if (style->no_hostname || !style->node.len)
		return;
	label(buf, "Hostname", style->node);
	label(buf, "hostname", style->node);
}

static struct fl_str profile_of(const struct fl_card *card, int32_t gi)
{
	struct fl_str profile = FL_S("");

	for (uint32_t i = 0; i < card->partitions.len; i++)
		if (card->partitions.at[i].gi == gi)
			profile = card->partitions.at[i].profile;
	if (fl_str_find(profile, 'c') == 1 && fl_str_find(profile, '.') == 2)   /* "1c.3g.40gb" of a "3g.40gb" */
		profile = fl_str_sub(profile, 3, profile.len);
	return profile;
}

/* Label metrics of the list, by name as the list has them. */
static void texts(struct fl_buf *buf, const struct fl_dcgm_facts *f, const struct fl_dcgm_target *t)
{
	for (uint32_t i = 0; i < f->list->len; i++) {
		const struct fl_dcgm_entry *entry = &f->list->at[i];
		struct fl_str text = FL_S("");
		char name[FL_METRIC_NAME] = "";

		if (entry->type != FL_DCGM_LABEL)
			continue;
		if (entry->field == FL_DCGM_DRIVER_VERSION)
			text = f->style.version;
		else if (entry->field == FL_DCGM_SERIAL)
			text = fl_str(t->gpu->serial);
		else if (entry->field == FL_DCGM_VBIOS_VERSION)
			text = fl_str(t->gpu->vbios);
		else if (entry->field == FL_DCGM_FABRIC_CLUSTER_UUID)
			text = t->card->fabric.cluster;
		(void)snprintf(name, sizeof name, "%.*s", FL_ARG(entry->name));
		if (text.len)
			label(buf, name, text);
	}
}

static void put_head_labels(struct fl_buf *buf, const struct fl_dcgm_facts *f, const struct fl_dcgm_target *t)
{
	const struct fl_card *card = t->card;

	number(buf, "gpu", card->index);
	label(buf, f->style.old_names ? "uuid" : "UUID", card->uuid);
	bus_id(buf, "pci_bus_id", card->meta.name);
	device(buf, card->index);
	model(buf, &f->style, "modelName", card->product);
	if (t->part) {
		label(buf, "GPU_I_PROFILE", profile_of(card, t->part->gi));
		number(buf, "GPU_I_ID", t->part->gi);
	}
	host_names(buf, &f->style);
	texts(buf, f, t);
}

static void put_link_labels(struct fl_buf *buf, const struct fl_dcgm_facts *f, const struct fl_card *card)
{
	number(buf, "gpu", card->index);
	label(buf, "gpu_uuid", card->uuid);
	bus_id(buf, "pci_bus_id", card->meta.name);
	device(buf, card->index);
	model(buf, &f->style, "model_name", card->product);
	host_names(buf, &f->style);
}

static void put_own_labels(struct fl_buf *buf, const struct fl_dcgm_facts *f, const struct fl_card *card)
{
	number(buf, "gpu", card->index);
	label(buf, "uuid", card->uuid);
	bus_id(buf, "pci_bus_id", card->meta.name);
	label(buf, "model", card->product);
	label(buf, "node", f->style.node);
}

/* ---- who has it ---- */

/* Is this device ID of the kubelet's the target? By UUID; other plugins count GPUs: `counted`. */
static bool is_target(const struct fl_dcgm_target *t, struct fl_str counted, struct fl_str id)
{
	const struct fl_card *card = t->card;
	int64_t replica;
	struct fl_str base = fl_gpu_id_base(id, &replica);

	if (fl_str_eq(base, card->uuid) || fl_str_eq(base, counted))
		return true;
	for (uint32_t i = 0; t->part && i < card->partitions.len; i++)
		if (card->partitions.at[i].gi == t->part->gi && fl_str_eq(card->partitions.at[i].uuid, base))
			return true;
	return false;
}

static bool holds(const struct fl_holder *holder, const struct fl_dcgm_target *t, struct fl_str counted)
{
	for (uint32_t i = 0; i < holder->devices.len; i++)
		if (is_target(t, counted, holder->devices.at[i]))
			return true;
	return false;
}

static const struct fl_dcgm_pod *pod_of(const struct fl_dcgm_facts *f, const struct fl_holder *holder)
{
	for (uint32_t i = 0; i < f->pod_len; i++)
		if (fl_str_eq(f->pods[i].name, holder->pod) && fl_str_eq(f->pods[i].space, holder->pod_space))
			return &f->pods[i];
	return NULL;
}

static void put_owner(struct fl_buf *buf, const struct fl_dcgm_facts *f, const struct fl_holder *holder)
{
	const struct fl_dcgm_style *style = &f->style;
	const struct fl_dcgm_pod *pod = pod_of(f, holder);

	if (pod)
		fl_buf_str(buf, pod->labels);
	fl_buf_char(buf, ',');
	fl_buf_str(buf, style->old_names ? FL_S("container_name=\"") : FL_S("container=\""));
	fl_metrics_put_text(buf, holder->container, true);
	fl_buf_char(buf, '"');
	label(buf, style->old_names ? "pod_namespace" : "namespace", holder->pod_space);
	label(buf, style->old_names ? "pod_name" : "pod", holder->pod);
	if (pod && style->pod_uid)
		label(buf, "pod_uid", pod->uid);
}

static int add_tails(const struct fl_dcgm_facts *f, struct fl_arena *arena, struct fl_dcgm_target *t)
{
	char text[LABELS_MAX], counted[40];   /* nvidia0, nvidia0/gi1 */
	struct fl_buf buf = FL_BUF_IN(text);

	if (t->part)
		(void)snprintf(counted, sizeof counted, "nvidia%d/gi%d", t->card->index, t->part->gi);
	else
		(void)snprintf(counted, sizeof counted, "nvidia%d", t->card->index);
	t->tails = fl_arena_get_n(arena, f->holder_len, sizeof *t->tails);
	if (!t->tails)
		return -FL_E_NOMEM;
	for (uint32_t i = 0; i < f->holder_len; i++) {
		if (!holds(&f->holders[i], t, fl_str(counted)))
			continue;
		fl_buf_clear(&buf);
		put_owner(&buf, f, &f->holders[i]);
		/* One container may have a device by two resources: one line. */
		if (fl_str_in(t->tails, t->tail_len, fl_buf_view(&buf)))
			continue;
		t->tails[t->tail_len] = fl_arena_str(arena, fl_buf_view(&buf));
		if (!t->tails[t->tail_len++].p)
			return -FL_E_NOMEM;
	}
	return 0;
}

/* ---- the targets ---- */

static int add_target(struct fl_dcgm_lines *lines, struct fl_arena *arena, const struct fl_card *card,
		      const struct fl_dcgm_gpu *gpu, const struct fl_dcgm_part *part)
{
	const struct fl_dcgm_facts *f = lines->facts;
	struct fl_dcgm_target *t = &lines->targets[lines->target_len];
	char text[LABELS_MAX];
	struct fl_buf buf = FL_BUF_IN(text);

	*t = (struct fl_dcgm_target){ .gpu = gpu, .part = part, .card = card, .instances = !part && gpu->part_len };
	put_head_labels(&buf, f, t);
	t->head = fl_arena_str(arena, fl_buf_view(&buf));
	if (!part) {
		fl_buf_clear(&buf);
		put_link_labels(&buf, f, card);
		t->link_head = fl_arena_str(arena, fl_buf_view(&buf));
		fl_buf_clear(&buf);
		put_own_labels(&buf, f, card);
		t->own_head = fl_arena_str(arena, fl_buf_view(&buf));
	}
	if (!t->head.p || (!part && (!t->link_head.p || !t->own_head.p)) || add_tails(f, arena, t) < 0)
		return -FL_E_NOMEM;
	lines->target_len++;
	return 0;
}

/* A GPU that does not answer has none. */
int fl_dcgm_lines_make(const struct fl_dcgm_facts *facts, struct fl_arena *arena, struct fl_dcgm_lines *ret)
{
	*ret = (struct fl_dcgm_lines){ .facts = facts };
	ret->targets = fl_arena_get_n(arena, (size_t)facts->gpu_len * (1 + FL_DCGM_PARTS), sizeof *ret->targets);
	if (!ret->targets)
		return -FL_E_NOMEM;
	for (uint32_t i = 0; i < facts->gpu_len; i++) {
		const struct fl_dcgm_gpu *gpu = facts->gpus[i];
		const struct fl_card *card = fl_find(facts->cards, facts->card_len, meta.name, fl_str(gpu->address));
		int r = 0;

		if (!gpu->has || !card || card->answer != FL_CARD_ANSWERS)
			continue;
		r = add_target(ret, arena, card, gpu, NULL);
		for (uint32_t k = 0; r == 0 && k < gpu->part_len; k++)
			r = add_target(ret, arena, card, gpu, &gpu->parts[k]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- lines ---- */

bool fl_dcgm_line(struct fl_dcgm_lines *lines)
{
	if (lines->lines >= FL_DCGM_LINES_MAX) {
		lines->left_out++;
		return false;
	}
	lines->lines++;
	return true;
}

void fl_dcgm_put_head(struct fl_buf *buf, struct fl_str name, struct fl_str help, const char *type)
{
	fl_buf_printf(buf, "# HELP %.*s ", FL_ARG(name));
	fl_metrics_put_text(buf, help, false);
	fl_buf_printf(buf, "\n# TYPE %.*s %s\n", FL_ARG(name), type);
}

static void put_value(struct fl_buf *buf, const struct fl_dcgm_field *field, double value)
{
	fl_buf_char(buf, ' ');
	if (field->form == FL_DCGM_DECIMAL)
		fl_buf_printf(buf, "%f", value);
	else if (fabs(value) < 9e15)
		fl_buf_int(buf, (int64_t)value);
	else
		fl_buf_printf(buf, "%.0f", value);
	fl_buf_char(buf, '\n');
}

struct family {
	struct fl_dcgm_lines *lines;
	const struct fl_dcgm_entry *entry;
	const struct fl_dcgm_field *field;
	struct fl_buf *buf;
	bool begun;
};

static void put_line(struct family *family, struct fl_str head, const char *more, struct fl_str tail, double value)
{
	if (!fl_dcgm_line(family->lines))
		return;
	if (!family->begun)
		fl_dcgm_put_head(family->buf, family->entry->name, family->entry->help,
				 fl_name(&fl_dcgm_type_names, (int)family->entry->type));
	family->begun = true;
	fl_buf_str(family->buf, family->entry->name);
	fl_buf_char(family->buf, '{');
	fl_buf_str(family->buf, head);
	fl_buf_str(family->buf, fl_str(more));
	fl_buf_str(family->buf, tail);
	fl_buf_char(family->buf, '}');
	put_value(family->buf, family->field, value);
}

/* A line for each container that has it, also at 0; one without where nobody does. */
static void put_lines(struct family *family, const struct fl_dcgm_target *t, const char *more, double value)
{
	if (isnan(value))
		return;
	for (uint32_t i = 0; i < t->tail_len; i++)
		put_line(family, t->head, more, t->tails[i], value);
	if (!t->tail_len)
		put_line(family, t->head, more, FL_S(""), value);
}

static int32_t gi_of(const struct fl_dcgm_target *t)
{
	return t->part ? t->part->gi : -1;
}

static void put_xid(struct family *family, const struct fl_dcgm_target *t)
{
	char more[FL_ERR_TEXT] = "";
	struct fl_buf buf = FL_BUF_IN(more);
	int64_t xid = t->part ? 0 : t->gpu->last_xid[0];

	for (uint32_t i = 1; t->part && i <= FL_DCGM_PARTS; i++)
		if (t->gpu->last_gi[i] == t->part->gi && t->gpu->last_xid[i])
			xid = t->gpu->last_xid[i];
	fl_buf_printf(&buf, ",err_code=\"%lld\",err_msg=\"", (long long)xid);
	fl_metrics_put_text(&buf, fl_str(xid ? fl_xid_find(xid)->says : "no error"), true);
	fl_buf_char(&buf, '"');
	put_lines(family, t, more, (double)xid);
}

static uint64_t since(uint64_t now, uint64_t window)
{
	return now > window ? now - window : 0;
}

/* The XIDs of the window, a line for each number; without any one line says 0. */
static void put_xid_count(struct family *family, const struct fl_dcgm_target *t)
{
	const struct fl_dcgm_facts *f = family->lines->facts;
	uint64_t from = since(f->now, f->style.window_xids);
	unsigned long long ms = f->style.window_xids / FL_NS_PER_MS;
	bool any = false;
	char more[96];

	for (uint32_t i = 0; i < t->gpu->xid_len; i++) {
		const struct fl_dcgm_xid *xid = &t->gpu->xids[i];
		uint64_t count = 0;

		for (uint32_t k = 0; k < f->late_len; k++)
			if (f->late[k].at >= from && f->late[k].xid == xid->xid && f->late[k].gi == xid->gi &&
			    strcmp(f->late[k].address, t->gpu->address) == 0)
				count += f->late[k].count;
		if (!count || xid->gi != gi_of(t))
			continue;
		any = true;
		(void)snprintf(more, sizeof more, ",window_size_in_ms=\"%llu\",xid=\"%lld\"", ms, (long long)xid->xid);
		put_lines(family, t, more, (double)count);
	}
	(void)snprintf(more, sizeof more, ",window_size_in_ms=\"%llu\"", ms);
	if (!any)
		put_lines(family, t, more, 0);
}

static void put_clock_count(struct family *family, const struct fl_dcgm_target *t)
{
	static const char *const events[] = { "gpu_idle", "clocks_setting", "power_cap", "hw_slowdown", "sync_boost",
					      "sw_thermal", "hw_thermal", "hw_power_brake", "display_clocks" };
	const struct fl_dcgm_style *style = &family->lines->facts->style;
	uint64_t from = since(family->lines->facts->now, style->window_clocks);
	unsigned long long ms = style->window_clocks / FL_NS_PER_MS;
	bool any = false;
	char more[96];

	for (uint32_t bit = 0; bit < FL_LEN(events); bit++) {
		uint32_t count = 0;

		for (uint32_t i = 0; i < t->gpu->clock_len; i++)
			count += t->gpu->clocks[i].at >= from && (t->gpu->clocks[i].mask >> bit & 1);
		if (!count)
			continue;
		any = true;
		(void)snprintf(more, sizeof more, ",clock_event=\"%s\",window_size_in_ms=\"%llu\"", events[bit], ms);
		put_lines(family, t, more, count);
	}
	(void)snprintf(more, sizeof more, ",window_size_in_ms=\"%llu\"", ms);
	if (!any && t->gpu->clock_len)
		put_lines(family, t, more, 0);
}

static void put_links(struct family *family, const struct fl_dcgm_target *t)
{
	int at = fl_dcgm_link_field(family->entry->field);
	char more[32];

	for (uint32_t i = 0; at >= 0 && i < t->gpu->link_len; i++) {
		double value = t->gpu->links[i][at];

		(void)snprintf(more, sizeof more, ",nvlink=\"%u\"", i);
		if (!isnan(value))
			put_line(family, t->link_head, more, FL_S(""), value);
	}
}

static void put_target(struct family *family, const struct fl_dcgm_target *t)
{
	const struct fl_dcgm_field *field = family->field;
	bool own = field->level == FL_DCGM_OF_INSTANCE, once = family->lines->facts->style.once;
	int at = fl_dcgm_link_field(family->entry->field), link = family->entry->link;

	if (field->level == FL_DCGM_OF_LINK) {
		if (!t->part)
			put_links(family, t);
		return;
	}
	if (t->instances ? own || !once : t->part && !own && once)
		return;
	if (field->source == FL_DCGM_FROM_XID)
		put_xid(family, t);
	else if (field->source == FL_DCGM_FROM_XID_COUNT)
		put_xid_count(family, t);
	else if (field->source == FL_DCGM_FROM_CLOCK_COUNT)
		put_clock_count(family, t);
	else if (field->level == FL_DCGM_OF_NAMED_LINK)
		put_lines(family, t, "", (uint32_t)link < t->gpu->link_len ? t->gpu->links[link][at] : NAN);
	else
		put_lines(family, t, "", t->part && own ? t->part->at[family->entry->field] :
							  t->gpu->at[family->entry->field]);
}

bool fl_dcgm_lines_put(struct fl_dcgm_lines *lines, uint32_t at, struct fl_buf *buf)
{
	const struct fl_dcgm_list *list = lines->facts->list;
	struct family family = { .lines = lines, .buf = buf };

	if (at >= list->len)
		return fl_dcgm_own_put(lines, at - list->len, buf);
	family.entry = &list->at[at];
	family.field = &fl_dcgm_fields[family.entry->field];
	for (uint32_t i = 0; i < lines->target_len && family.entry->type != FL_DCGM_LABEL; i++)
		put_target(&family, &lines->targets[i]);
	return true;
}
