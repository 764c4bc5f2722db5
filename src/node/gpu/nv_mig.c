#include "node/gpu/nv_mig.h"
#include <stdlib.h>

/* ---- names ---- */

static const char *attribute(uint32_t number)
{
	switch ((enum fl_nv_gi_profile_no)number) {
	case FL_NV_GI_1_REV1:
	case FL_NV_GI_2_REV1: return "+me";
	case FL_NV_GI_1_ALL_ME:
	case FL_NV_GI_2_ALL_ME: return "+me.all";
	case FL_NV_GI_1_GFX:
	case FL_NV_GI_2_GFX:
	case FL_NV_GI_3_GFX:
	case FL_NV_GI_4_GFX: return "+gfx";
	case FL_NV_GI_1_NO_ME:
	case FL_NV_GI_2_NO_ME: return "-me";
	case FL_NV_GI_1:
	case FL_NV_GI_2:
	case FL_NV_GI_3:
	case FL_NV_GI_4:
	case FL_NV_GI_6:
	case FL_NV_GI_7:
	case FL_NV_GI_8:
	case FL_NV_GI_1_REV2:
	case FL_NV_GI_COUNT: break;
	}
	return "";
}

bool fl_mig_name(const struct fl_mig_profile *profile, struct fl_buf *ret)
{
	const uint64_t gib = 1ull << 30, mib = 1ull << 20;
	uint64_t eighths, total;

	if (!profile->gi_slices || !profile->card_bytes || profile->memory_mib > UINT32_MAX ||
	    profile->card_bytes > UINT64_MAX / 16)
		return false;
	eighths = (8 * profile->memory_mib * mib + profile->card_bytes - 1) / profile->card_bytes;
	total = (profile->card_bytes + gib - 1) / gib;
	if (profile->ci_slices && profile->ci_slices != profile->gi_slices)
		fl_buf_printf(ret, "%uc.", profile->ci_slices);
	fl_buf_printf(ret, "%ug.%llugb%s", profile->gi_slices, (unsigned long long)((eighths * total + 4) / 8),
		      attribute(profile->number));
	return true;
}

/* Digits, at least one and at most six; how many. */
static uint32_t digits(struct fl_str s, uint32_t at)
{
	uint32_t n = 0;

	while (at + n < s.len && s.p[at + n] >= '0' && s.p[at + n] <= '9')
		n++;
	return n <= 6 ? n : 0;
}

/* "<digits><unit>" at *at, which is moved behind it. */
static bool take(struct fl_str s, uint32_t *at, struct fl_str unit)
{
	uint32_t n = digits(s, *at);

	if (!n || !fl_str_eq(fl_str_sub(s, *at + n, unit.len), unit))
		return false;
	*at += n + unit.len;
	return true;
}

bool fl_mig_is_name(struct fl_str name)
{
	uint32_t at = 0;

	(void)take(name, &at, FL_S("c."));
	if (!take(name, &at, FL_S("g.")) || !take(name, &at, FL_S("gb")))
		return false;
	if (at == name.len)
		return true;
	if ((name.p[at] != '+' && name.p[at] != '-') || at + 1 == name.len || name.len - at > 16)
		return false;
	for (at++; at < name.len; at++)
		if (!(name.p[at] >= 'a' && name.p[at] <= 'z') && name.p[at] != '.')
			return false;
	return true;
}

struct fl_str fl_mig_name_in(struct fl_str device_name)
{
	for (uint32_t i = 0; i + 4 < device_name.len; i++) {
		struct fl_str rest = fl_str_sub(device_name, i + 4, UINT32_MAX);

		if (memcmp(device_name.p + i, "MIG ", 4) == 0 && fl_mig_is_name(rest))
			return rest;
	}
	return FL_S("");
}

/* ---- capabilities ---- */

static int compare(const void *a_, const void *b_)
{
	const struct fl_mig_cap *a = a_, *b = b_;

	if (a->card != b->card)
		return a->card < b->card ? -1 : 1;
	if (a->gi != b->gi)
		return a->gi < b->gi ? -1 : 1;
	return a->ci < b->ci ? -1 : a->ci > b->ci;
}

/* "<word><number>" with a number up to max, taken off *rest up to the next slash. */
static bool part(struct fl_str *rest, struct fl_str word, uint32_t max, uint32_t *ret)
{
	struct fl_str piece;
	uint64_t number;

	if (!fl_str_split(rest, '/', &piece) || !fl_str_starts(piece, word) ||
	    !fl_str_u64(fl_str_sub(piece, word.len, UINT32_MAX), &number) || number > max)
		return false;
	*ret = (uint32_t)number;
	return true;
}

/* "gpu0/gi1/access 12", "gpu0/gi1/ci0/access 13" */
static bool parse_line(struct fl_str line, struct fl_mig_cap *ret)
{
	uint32_t card, gi, ci = FL_MIG_NO_CI;
	struct fl_str path, after = line;
	uint64_t minor;

	if (!fl_str_split(&after, ' ', &path) || !after.p || !fl_str_u64(fl_str_trim(after), &minor) ||
	    minor > INT32_MAX)
		return false;
	if (!part(&path, FL_S("gpu"), UINT16_MAX, &card) || !part(&path, FL_S("gi"), FL_MIG_NO_CI - 1, &gi))
		return false;
	if (fl_str_starts(path, FL_S("ci")) && !part(&path, FL_S("ci"), FL_MIG_NO_CI - 1, &ci))
		return false;
	if (!fl_str_eq(path, FL_S("access")))
		return false;
	*ret = (struct fl_mig_cap){ (uint16_t)card, (uint8_t)gi, (uint8_t)ci, (uint32_t)minor };
	return true;
}

int fl_mig_caps_parse(struct fl_mig_caps *caps, struct fl_str text)
{
	struct fl_str line;
	struct fl_mig_cap cap;

	caps->list.len = 0;
	while (fl_str_split(&text, '\n', &line))
		if (parse_line(line, &cap) && fl_vec_push(&caps->list, cap) < 0)
			return -FL_E_NOMEM;
	if (caps->list.len)
		qsort(caps->list.at, caps->list.len, sizeof *caps->list.at, compare);
	return 0;
}

void fl_mig_caps_free(struct fl_mig_caps *caps)
{
	fl_vec_free(&caps->list);
}

int32_t fl_mig_cap_find(const struct fl_mig_caps *caps, uint32_t card, uint32_t gi, uint32_t ci)
{
	const struct fl_mig_cap want = { .card = (uint16_t)card, .gi = (uint8_t)gi, .ci = (uint8_t)ci };
	const struct fl_mig_cap *found = NULL;

	if (card <= UINT16_MAX && gi < FL_MIG_NO_CI && ci <= FL_MIG_NO_CI && caps->list.len)
		found = bsearch(&want, caps->list.at, caps->list.len, sizeof want, compare);
	return found ? (int32_t)found->minor : -1;
}
