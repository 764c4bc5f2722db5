#include "certs.h"
#include "base/units.h"
#include "http/files.h"
#include "test.h"
#include "test_io.h"
#include <stdio.h>

struct watch {
	struct fl_tls_files tls;
	struct fl_files files;
	struct fl_io *io;
	int changes, failures;
	char text[100];
	struct fl_err err;
};

static void watch_auto_(struct watch *watch)
{
	fl_tls_files_stop(&watch->tls);
	fl_files_stop(&watch->files);
	fl_io_free(watch->io);
}

static void changed(struct fl_files *files, const struct fl_str *texts)
{
	struct watch *watch = fl_container(files, struct watch, files);

	watch->changes++;
	(void)snprintf(watch->text, sizeof watch->text, "%.*s|%.*s", FL_ARG(texts[0]), FL_ARG(texts[1]));
}

static void failed(struct fl_files *files, const struct fl_err *err)
{
	struct watch *watch = fl_container(files, struct watch, files);

	watch->failures++;
	watch->err = *err;
}

static void tls_changed(struct fl_tls_files *files, struct fl_tls_context *context)
{
	struct watch *watch = fl_container(files, struct watch, tls);

	watch->changes += fl_tls_context_expires(context) > 0;
}

static void tls_failed(struct fl_tls_files *files, const struct fl_err *err)
{
	struct watch *watch = fl_container(files, struct watch, tls);

	watch->failures++;
	watch->err = *err;
}

/* Turns until one of the two has happened so often; tortured, a reading may fail and come again much later. */
static int until(struct watch *watch, int changes, int failures)
{
	uint64_t begun = fl_clock(watch->io);

	while ((watch->changes < changes || watch->failures < failures) &&
	       fl_clock(watch->io) < begun + (test_tortured() ? FL_NS_PER_S / 20 : 3 * FL_NS_PER_S))
		if (fl_io_turn(watch->io, fl_clock(watch->io) + 10 * FL_NS_PER_MS, NULL) < 0)
			return -FL_E_IO;
	return test_tortured() ? -FL_E_IO : watch->changes == changes && watch->failures == failures ? 0 :
		-FL_E_CONFLICT;
}

TEST(a_file_is_told_when_it_changes)
{
	FL_AUTO(watch) struct watch watch = { .files = { .changed = changed, .failed = failed } };
	const char *dir = test_dir();

	watch.io = test_io();
	GOT(watch.io);
	watch.files.paths[0] = test_path(dir, "token");
	(void)remove(watch.files.paths[0]);
	OK(fl_files_start(watch.io, &watch.files, NULL));
	OK(until(&watch, 0, 1));
	CHECK_INT(watch.err.code, FL_E_NOTFOUND);
	CHECK(test_write_file(watch.files.paths[0], "one"));
	OK(until(&watch, 1, 1));
	CHECK_STR(fl_str(watch.text), "one|");
	CHECK(test_write_file(watch.files.paths[0], "two"));
	OK(until(&watch, 2, 1));
	CHECK_STR(fl_str(watch.text), "two|");
}

/* Once: it waits for what must not happen. */
TEST_ONCE(the_same_text_again_is_no_change)
{
	FL_AUTO(watch) struct watch watch = { .files = { .changed = changed, .failed = failed } };
	const char *dir = test_dir();

	watch.io = test_io();
	GOT(watch.io);
	watch.files.paths[0] = test_path(dir, "a");
	watch.files.paths[1] = test_path(dir, "b");
	CHECK(test_write_file(watch.files.paths[0], "A") && test_write_file(watch.files.paths[1], "B"));
	OK(fl_files_start(watch.io, &watch.files, NULL));
	OK(until(&watch, 1, 0));
	CHECK_STR(fl_str(watch.text), "A|B");
	CHECK(test_write_file(watch.files.paths[0], "A"));
	OK(test_pause(watch.io, 2 * FL_FILES_SETTLE));
	CHECK(test_tortured() || watch.changes == 1);
}

/* Once: it waits for files to settle, three times. */
TEST_ONCE(a_pair_that_does_not_fit_keeps_the_old_one)
{
	const struct test_certs *certs = test_certs();
	FL_AUTO(watch) struct watch watch = { .tls = { .changed = tls_changed, .failed = tls_failed } };
	const char *dir = test_dir();

	CHECK(certs);
	watch.io = test_io();
	GOT(watch.io);
	watch.tls.config = (struct fl_tls_config){ .server = true, .peer = FL_TLS_PEER_TRUST };
	watch.tls.cert = test_path(dir, "tls.crt");
	watch.tls.key = test_path(dir, "tls.key");
	CHECK(test_write_file(watch.tls.cert, certs->server.cert) && test_write_file(watch.tls.key, certs->server.key));
	OK(fl_tls_files_start(watch.io, &watch.tls, NULL));
	OK(until(&watch, 1, 0));
	CHECK(test_write_file(watch.tls.cert, certs->client.cert));
	OK(until(&watch, 1, 1));
	CHECK(strstr(watch.err.text, "the private key belongs to another certificate"));
	CHECK(test_write_file(watch.tls.key, certs->client.key));
	OK(until(&watch, 2, 1));
}
