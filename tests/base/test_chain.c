/* Intrusive lists: whatever is added, appended and taken, both directions agree. */
#include "base/chain.h"
#include "test.h"

struct link {
	struct link *next, **from;
};

struct line {
	struct link *first, **last;
};

/* The links as letters, from the first on; "?" where one's `from` does not point to it, or the end is elsewhere. */
static const char *drawn(const struct line *line, const struct link *links, char *room)
{
	struct link *const *at = &line->first;
	uint32_t n = 0;

	for (; *at && n < 6; at = &(*at)->next)
		room[n++] = (*at)->from == at ? (char)('a' + (*at - links)) : '?';
	if (line->last && line->last != at)
		room[n++] = '?';
	room[n] = '\0';
	return room;
}

static const struct {
	const char *says, *steps, *want;   /* +a: add at the front, >a: append, -a: take */
	bool ended;                        /* a list that keeps its end */
} rows[] = {
	{ "the newest comes first", "+a+b+c", "cba", false },
	{ "the first is taken", "+a+b+c-c", "ba", false },
	{ "one in the middle is taken", "+a+b+c-b", "ca", false },
	{ "the last is taken", "+a+b+c-a", "cb", false },
	{ "the only one is taken", "+a-a", "", false },
	{ "one that was taken comes again", "+a+b-a+a", "ab", false },
	{ "appended ones stand in order", ">a>b>c", "abc", true },
	{ "the end follows when the last is taken", ">a>b>c-c>d", "abd", true },
	{ "the end stays when another is taken", ">a>b>c-a-b>d", "cd", true },
	{ "the end of an empty list is its start", ">a>b-b-a>c", "c", true },
};

TEST(links_of_a_chain)
{
	EACH_ROW (row, rows) {
		struct link links[4] = { 0 };
		struct line line = { .first = NULL };
		char room[8];

		if (row->ended)
			line.last = &line.first;
		for (const char *step = row->steps; *step; step += 2) {
			struct link *link = &links[step[1] - 'a'];

			if (*step == '+')
				fl_chain_add(&line.first, link);
			else if (*step == '>')
				fl_chain_append(&line.last, link);
			else if (row->ended)
				fl_chain_take_of(&line.last, link);
			else
				fl_chain_take(link);
			if (*step == '-')
				CHECK(!link->next && !link->from);
		}
		CHECK_STR(fl_str(drawn(&line, links, room)), row->want);
	}
}
