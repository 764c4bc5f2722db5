#include "node/host/crio_conf.h"
#include "base/chars.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define FL_CRIO_KEY_MAX 128                      /* of a key: a longer one is cut, for it is not looked for */
#define FL_CRIO_DEPTH_MAX 16                     /* of arrays and tables: each is a call on the stack */

#define SETTING "crio.runtime.cdi_spec_dirs"

/* ---- TOML, as far as one setting needs it ---- */

struct toml {
	const char *p, *end;
	struct fl_crio_conf *conf;
	bool wrong;
};

struct key {
	char text[FL_CRIO_KEY_MAX];   /* "crio.runtime"; what is longer is cut, for it is not looked for */
};

static char peek(const struct toml *t)
{
	return t->p < t->end ? *t->p : '\0';
}

static bool take_char(struct toml *t, char c)
{
	bool is = t->p < t->end && *t->p == c;

	t->p += is;
	return is;
}

static void blanks(struct toml *t)
{
	while (peek(t) == ' ' || peek(t) == '\t' || peek(t) == '\r')
		t->p++;
}

/* Blanks, ends of lines and comments. */
static void gap(struct toml *t)
{
	for (blanks(t); peek(t) == '\n' || peek(t) == '#'; blanks(t)) {
		if (peek(t) == '#')
			t->p = memchr(t->p, '\n', (size_t)(t->end - t->p)) ?: t->end;
		(void)take_char(t, '\n');
	}
}

/* `out` NULL: it is only passed. Escapes but for quotes and backslashes are in no path that CDI files are in. */
static void string(struct toml *t, char *out, size_t size)
{
	char quote = *t->p;
	bool whole = (size_t)(t->end - t->p) >= 3 && t->p[1] == quote && t->p[2] == quote;
	size_t len = 0;

	t->p += whole ? 3 : 1;
	while (t->p < t->end) {
		char c = *t->p++;

		if (c == quote && (!whole || ((size_t)(t->end - t->p) >= 2 && t->p[0] == quote && t->p[1] == quote))) {
			t->p += whole ? 2 : 0;
			if (out)
				out[len] = '\0';
			return;
		}
		if (c == '\\' && quote == '"' && t->p < t->end) {
			c = *t->p++;
			t->wrong |= out && c != '"' && c != '\\';
		} else if (c == '\n' && !whole) {
			break;
		}
		if (out && len + 1 < size)
			out[len++] = c;
		else
			t->wrong |= out != NULL;
	}
	t->wrong = true;
}

static bool is_bare(char c)
{
	return fl_is_alnum(c) || c == '_' || c == '-';
}

static void append(struct key *key, const char *part)
{
	size_t len = strlen(key->text);

	(void)snprintf(key->text + len, sizeof key->text - len, "%s%s", len ? "." : "", part);
}

/* Parts with points between them, after what is in there. */
static void read_key(struct toml *t, struct key *key)
{
	do {
		char part[FL_CRIO_KEY_MAX] = "";
		size_t len = 0;

		blanks(t);
		if (peek(t) == '"' || peek(t) == '\'')
			string(t, part, sizeof part);
		else
			for (; is_bare(peek(t)); t->p++)
				if (len + 1 < sizeof part)
					part[len++] = *t->p;
		t->wrong |= !part[0];
		append(key, part);
		blanks(t);
	} while (!t->wrong && take_char(t, '.'));
}

static void value(struct toml *t, const struct key *key, int depth);

static void pair(struct toml *t, struct key key, int depth)
{
	read_key(t, &key);
	t->wrong |= !take_char(t, '=');
	blanks(t);
	if (!t->wrong)
		value(t, &key, depth);
}

static void array(struct toml *t, bool wanted, int depth)
{
	static const struct key nobodys = { "" };
	struct fl_crio_conf *conf = t->conf;

	if (wanted) {
		conf->dir_count = 0;
		conf->set = true;
	}
	for (gap(t); !t->wrong && !take_char(t, ']'); gap(t)) {
		if (!wanted) {
			value(t, &nobodys, depth);
		} else if (conf->dir_count < FL_CRIO_DIRS_MAX && (peek(t) == '"' || peek(t) == '\'')) {
			string(t, conf->dirs[conf->dir_count], sizeof conf->dirs[0]);
			conf->dir_count++;
		} else {
			t->wrong = true;
		}
		gap(t);
		t->wrong |= !take_char(t, ',') && peek(t) != ']';
	}
}

static void table(struct toml *t, const struct key *key, int depth)
{
	for (blanks(t); !t->wrong && !take_char(t, '}'); blanks(t)) {
		pair(t, *key, depth);
		blanks(t);
		t->wrong |= !take_char(t, ',') && peek(t) != '}';
	}
}

static void value(struct toml *t, const struct key *key, int depth)
{
	bool wanted = strcmp(key->text, SETTING) == 0;
	const char *from = t->p;

	if (depth == FL_CRIO_DEPTH_MAX || (wanted && peek(t) != '[')) {
		t->wrong = true;
	} else if (peek(t) == '"' || peek(t) == '\'') {
		string(t, NULL, 0);
	} else if (take_char(t, '[')) {
		array(t, wanted, depth + 1);
	} else if (take_char(t, '{')) {
		table(t, key, depth + 1);
	} else {
		while (t->p < t->end && !strchr(" \t\r\n,]}#", *t->p))
			t->p++;
		t->wrong |= t->p == from;
	}
}

/* "[a.b]", or "[[a.b]]", which is a list of tables and so not the one that is looked for. */
static void header(struct toml *t, struct key *ret)
{
	bool list = take_char(t, '[');

	*ret = (struct key){ "" };
	read_key(t, ret);
	t->wrong |= !take_char(t, ']') || (list && !take_char(t, ']'));
	if (list)
		append(ret, "[]");
}

bool fl_crio_conf_text(struct fl_str text, struct fl_crio_conf *conf)
{
	struct toml t = { text.p, text.p + text.len, conf, false };
	struct key at = { "" };

	for (gap(&t); !t.wrong && t.p < t.end; gap(&t)) {
		if (take_char(&t, '['))
			header(&t, &at);
		else
			pair(&t, at, 0);
		blanks(&t);
		t.wrong |= t.p < t.end && *t.p != '\n' && *t.p != '#';
	}
	return !t.wrong;
}

/* ---- the files ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* False: what follows does not matter any more. */
static bool read_one(const struct fl_fs *fs, const char *path, struct fl_crio_conf *ret)
{
	int fd = fs->open(fs, AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
	int64_t n = fd;

	if (fd == -ENOENT)
		return true;
	if (fd >= 0) {
		n = fl_fs_read_all(fs, fd, ret->text, sizeof ret->text);
		fs->close(fs, fd);
	}
	if (n == -EISDIR)
		return true;
	ret->seen = true;
	ret->set = false;
	if (n < 0)
		ret->error = (int)-n;
	else
		ret->wrong = n == sizeof ret->text ||
			     !fl_crio_conf_text((struct fl_str){ ret->text, (uint32_t)n }, ret);
	if (n < 0 || ret->wrong || ret->set)
		(void)snprintf(ret->path, sizeof ret->path, "%s", path);
	return n >= 0 && !ret->wrong;
}

/* The names of the files that come after the first one, sorted; how many, or a negated errno. */
static int list_names(const struct fl_fs *fs, const char *dir, struct fl_crio_conf *ret)
{
	char buf[4096];
	const char *name;
	int64_t len = 0;
	int count = 0, fd = fs->open(fs, AT_FDCWD, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	ret->seen = true;
	while (!ret->wrong && (len = fs->list(fs, fd, buf, sizeof buf)) > 0) {
		size_t at = 0;

		while ((name = fl_list_next(buf, (size_t)len, &at, NULL))) {
			if (count < FL_CRIO_FILES_MAX)
				(void)snprintf(ret->names[count++], sizeof ret->names[0], "%s", name);
			else
				ret->wrong = true;
		}
	}
	fs->close(fs, fd);
	qsort(ret->names, (size_t)count, sizeof ret->names[0], by_name);
	return len < 0 ? (int)len : count;
}

void fl_crio_conf_read(const struct fl_fs *fs, const char *dir, struct fl_crio_conf *ret)
{
	char path[2 * FL_CRIO_PATH_MAX], drop_ins[FL_CRIO_PATH_MAX + 32];
	int count;

	ret->dir_count = 0;
	ret->seen = ret->wrong = false;
	ret->error = 0;
	ret->path[0] = '\0';
	(void)snprintf(path, sizeof path, "%s/crio.conf", dir);
	(void)snprintf(drop_ins, sizeof drop_ins, "%s/crio.conf.d", dir);
	if (!read_one(fs, path, ret))
		return;
	count = list_names(fs, drop_ins, ret);
	if (count < 0 || ret->wrong) {
		ret->error = count < 0 ? -count : 0;
		(void)snprintf(ret->path, sizeof ret->path, "%s", drop_ins);
		return;
	}
	for (int i = 0; i < count; i++) {
		(void)snprintf(path, sizeof path, "%s/%s", drop_ins, ret->names[i]);
		if (!read_one(fs, path, ret))
			return;
	}
}
