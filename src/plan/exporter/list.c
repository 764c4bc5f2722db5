#include "plan/exporter/list.h"
#include <string.h>

#define COLUMNS 3

int fl_dcgm_list_usual(struct fl_arena *arena, struct fl_dcgm_list *ret, struct fl_err *err)
{
	ret->len = 0;
	ret->at = fl_arena_get_n(arena, FL_DCGM_COUNT, sizeof *ret->at);
	if (!ret->at)
		return fl_fail(err, FL_E_NOMEM, "no memory for the exporter's fields");
	for (uint32_t id = 0; id < FL_DCGM_COUNT; id++)
		if (fl_dcgm_fields[id].usual)
			ret->at[ret->len++] = (struct fl_dcgm_entry){
				.field = (uint16_t)id, .link = -1, .type = fl_dcgm_fields[id].type,
				.name = fl_str(fl_dcgm_fields[id].name), .help = fl_str(fl_dcgm_fields[id].help),
			};
	return 0;
}

/* ---- CSV ---- */

/* Takes one column off *rest, unquoted into the arena where it needs that. false: its quotes do not end. */
static bool column(struct fl_str *rest, struct fl_arena *arena, struct fl_str *ret, bool *ret_last)
{
	uint32_t at = 0, len = 0;
	char *to;

	while (rest->len && (rest->p[0] == ' ' || rest->p[0] == '\t'))
		*rest = fl_str_sub(*rest, 1, rest->len);
	if (!rest->len || rest->p[0] != '"') {
		*ret_last = fl_str_find(*rest, ',') < 0;
		if (!fl_str_split(rest, ',', ret))
			*ret = FL_S("");
		*ret = fl_str_trim(*ret);
		return true;
	}
	to = fl_arena_get(arena, rest->len);
	if (!to)
		return false;
	for (at = 1; at < rest->len; at++) {
		if (rest->p[at] == '"' && at + 1 < rest->len && rest->p[at + 1] == '"')
			at++;
		else if (rest->p[at] == '"')
			break;
		to[len++] = rest->p[at];
	}
	if (at >= rest->len)
		return false;
	*ret = fl_str_trim((struct fl_str){ to, len });
	*rest = fl_str_trim(fl_str_sub(*rest, at + 1, rest->len));
	*ret_last = !rest->len;
	if (!*ret_last && rest->p[0] != ',')
		return false;
	*rest = fl_str_sub(*rest, 1, rest->len);
	return true;
}

/* How many there are, of which the first COLUMNS are in `ret`; 0: malformed. */
static uint32_t columns(struct fl_str line, struct fl_arena *arena, struct fl_str ret[COLUMNS])
{
	struct fl_str more;
	bool last = false;
	uint32_t n = 0;

	for (; !last; n++)
		if (!column(&line, arena, n < COLUMNS ? &ret[n] : &more, &last))
			return 0;
	return n;
}

static int read_type(uint32_t number, struct fl_str name, struct fl_str type, const struct fl_dcgm_field *field,
		     enum fl_dcgm_type *ret, struct fl_err *err)
{
	int is = fl_name_find(&fl_dcgm_type_names, type);

	if (fl_str_eq(type, FL_S("histogram")) || fl_str_eq(type, FL_S("summary")))
		return fl_fail(err, FL_E_INVALID,
			       "line %u: %.*s: DCGM has one value of it, which is no %.*s: write gauge or counter",
			       number,
			       FL_ARG(name), FL_ARG(type));
	if (is < 0)
		return fl_fail(err, FL_E_INVALID, "line %u: '%.*s' is no type: write gauge, counter or label", number,
			       FL_ARG(type));
	*ret = (enum fl_dcgm_type)is;
	if ((field->form == FL_DCGM_TEXT) != (*ret == FL_DCGM_LABEL))
		return fl_fail(err, FL_E_INVALID, "line %u: %.*s is a %s: write %s", number, FL_ARG(name),
			       field->form == FL_DCGM_TEXT ? "text" : "number",
			       field->form == FL_DCGM_TEXT ? "label" : "gauge or counter");
	return 0;
}

/* What DCGM's exporter makes itself, and what DCGM has given up. */
static const struct {
	const char *name, *instead;
} refused[] = {
	{ "DCGM_EXP_GPU_HEALTH_STATUS", "fairlead_card_health, among the agent's own metrics, has each GPU's health" },
	{ "DCGM_EXP_P2P_STATUS", "the check 'nvlink' on the Node has the links between GPUs" },
	{ "DCGM_FI_DEV_PCIE_TX_THROUGHPUT", "DCGM_FI_PROF_PCIE_TX_BYTES has it" },
	{ "DCGM_FI_DEV_PCIE_RX_THROUGHPUT", "DCGM_FI_PROF_PCIE_RX_BYTES has it" },
};

static int refuse_name(uint32_t number, struct fl_str name, struct fl_err *err)
{
	for (uint32_t i = 0; i < FL_LEN(refused); i++)
		if (fl_str_eq(name, fl_str(refused[i].name)))
			return fl_fail(err, FL_E_INVALID, "line %u: %s is not served: %s: leave it out", number,
				       refused[i].name, refused[i].instead);
	return fl_fail(err, FL_E_INVALID,
		       "line %u: the field '%.*s' is unknown, or NVML does not have it: leave it out", number,
		       FL_ARG(name));
}

static int read_line(uint32_t number, struct fl_str line, struct fl_arena *arena, struct fl_dcgm_list *list,
		     struct fl_err *err)
{
	struct fl_str at[COLUMNS] = { { 0 } };
	uint32_t n = columns(line, arena, at);
	struct fl_dcgm_entry entry = { .name = at[0], .help = at[2] };
	int32_t link;
	int id, r;

	if (n == 0)
		return fl_fail(err, FL_E_INVALID, "line %u: a quoted text does not end", number);
	if (n != COLUMNS)
		return fl_fail(err, FL_E_INVALID,
			       "line %u: %u fields: write NAME, TYPE, HELP; quote a text with commas",
			       number, n);
	id = fl_dcgm_find(at[0], &link);
	if (id < 0)
		return refuse_name(number, at[0], err);
	if (fl_find(list->at, list->len, name, at[0]))
		return fl_fail(err, FL_E_INVALID, "line %u: %.*s is there twice", number, FL_ARG(at[0]));
	if (list->len == FL_DCGM_LIST_MAX)
		return fl_fail(err, FL_E_INVALID, "line %u: more than %d fields", number, FL_DCGM_LIST_MAX);
	entry.field = (uint16_t)id;
	entry.link = (int16_t)link;
	r = read_type(number, at[0], at[1], &fl_dcgm_fields[id], &entry.type, err);
	if (r < 0)
		return r;
	entry.name = fl_arena_str(arena, at[0]);
	entry.help = fl_arena_str(arena, at[2]);
	if (!entry.name.p || !entry.help.p)
		return fl_fail(err, FL_E_NOMEM, "no memory for the exporter's fields");
	list->at[list->len++] = entry;
	return 0;
}

int fl_dcgm_list_read(struct fl_str csv, struct fl_arena *arena, struct fl_dcgm_list *ret, struct fl_err *err)
{
	uint32_t number = 0;
	struct fl_str line;
	int r = 0;

	ret->len = 0;
	ret->at = fl_arena_get_n(arena, FL_DCGM_LIST_MAX, sizeof *ret->at);
	if (!ret->at)
		return fl_fail(err, FL_E_NOMEM, "no memory for the exporter's fields");
	while (r == 0 && fl_str_split(&csv, '\n', &line)) {
		number++;
		if (line.len && line.p[0] != '#' && fl_str_trim(line).len)
			r = read_line(number, line, arena, ret, err);
	}
	if (r == 0 && !ret->len)
		return fl_fail(err, FL_E_INVALID, "the list is empty: write a line for each field");
	return r;
}

void fl_dcgm_list_wants(const struct fl_dcgm_list *list, struct fl_dcgm_set *ret)
{
	*ret = (struct fl_dcgm_set){ 0 };
	for (uint32_t i = 0; i < list->len; i++) {
		fl_dcgm_add(ret, list->at[i].field);
		if (list->at[i].field == FL_DCGM_CLOCK_COUNT)
			fl_dcgm_add(ret, FL_DCGM_CLOCK_THROTTLE_REASONS);
	}
	for (uint32_t id = 0; id < FL_DCGM_COUNT; id++)
		if (!fl_dcgm_fields[id].name || fl_dcgm_fields[id].source == FL_DCGM_FROM_VIOLATION ||
		    (fl_dcgm_fields[id].arg >= 74 && fl_dcgm_fields[id].arg <= 79 &&
		     fl_dcgm_fields[id].source == FL_DCGM_FROM_FIELD))
			fl_dcgm_add(ret, id);
	fl_dcgm_add(ret, FL_DCGM_TOTAL_ENERGY_CONSUMPTION);
	fl_dcgm_add(ret, FL_DCGM_ROW_REMAP_PENDING);
}
