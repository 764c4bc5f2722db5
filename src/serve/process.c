#include "serve/process.h"
#include "io/io.h"
#include "io/job.h"
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- the numbers ---- */

static void value(struct fl_scrape *scrape, void *process_, size_t offset)
{
	const struct fl_process *process = process_;
	double number;

	memcpy(&number, (const char *)process + offset, sizeof number);
	if (process->seen && number >= 0)
		fl_scrape_value(scrape, NULL, number);
}
#define COLLECT(name, member) \
	static void name(struct fl_scrape *scrape, void *process) \
	{ \
		value(scrape, process, offsetof(struct fl_process, member)); \
	}
COLLECT(cpu, cpu_s)
COLLECT(start, start_s)
COLLECT(resident, resident)
COLLECT(virtual_, virtual_)
COLLECT(open_fds, open_fds)
COLLECT(max_fds, max_fds)
COLLECT(threads, threads)

static void build(struct fl_scrape *scrape, void *process)
{
	struct fl_str values[] = { FL_S(FL_VERSION), fl_str(((const struct fl_process *)process)->role) };

	fl_scrape_value(scrape, values, 1);
}

static const struct fl_metric rows[] = {
	{ "process_cpu_seconds_total", "CPU time, user and system.", FL_COUNTER, .collect = cpu },
	{ "process_resident_memory_bytes", "Resident memory.", FL_GAUGE, .collect = resident },
	{ "process_virtual_memory_bytes", "Virtual memory.", FL_GAUGE, .collect = virtual_ },
	{ "process_open_fds", "Open file descriptors.", FL_GAUGE, .collect = open_fds },
	{ "process_max_fds", "Maximum number of open file descriptors.", FL_GAUGE, .collect = max_fds },
	{ "process_threads", "Threads of the process.", FL_GAUGE, .collect = threads },
	{ "process_start_time_seconds", "Start time of the process, as Unix time.", FL_GAUGE, .collect = start },
	{ "fairlead_build_info", "Build and role. Always 1.", FL_GAUGE, { "version", "role" },
	  .collect = build },
};

int fl_process_add(struct fl_process *process, struct fl_metrics *metrics, const char *role, struct fl_err *err)
{
	struct fl_family *families[FL_LEN(rows)];

	process->role = role;
	return fl_metrics_add(metrics, rows, FL_LEN(rows), process, families, err);
}

/* ---- the texts ---- */

/* The how-manieth word; empty when there are not so many. */
static struct fl_str word(struct fl_str line, unsigned n)
{
	struct fl_str part = { 0 };

	while (fl_str_split(&line, ' ', &part))
		if (part.len && n-- == 0)
			return part;
	return FL_S("");
}

/* Seconds as /proc/uptime has them: "123.45". */
static bool seconds(struct fl_str text, double *ret)
{
	int64_t point = fl_str_find(text, '.');
	uint64_t whole, hundredths;

	if (point < 0 || !fl_str_u64(fl_str_sub(text, 0, (uint32_t)point), &whole) ||
	    !fl_str_u64(fl_str_sub(text, (uint32_t)point + 1, text.len), &hundredths))
		return false;
	*ret = (double)whole + (double)hundredths / 100;
	return true;
}

static void read_limits(struct fl_process *process, struct fl_str limits)
{
	struct fl_str line;
	uint64_t most;

	process->max_fds = -1;
	while (fl_str_split(&limits, '\n', &line))
		if (fl_str_starts(line, FL_S("Max open files ")) && fl_str_u64(word(line, 3), &most))
			process->max_fds = (double)most;
}

int fl_process_read(struct fl_process *process, struct fl_str stat, struct fl_str limits, struct fl_str uptime,
		    int64_t wall, struct fl_err *err)
{
	double hz = (double)sysconf(_SC_CLK_TCK), page = (double)sysconf(_SC_PAGESIZE), up;
	/* After the name, which may hold blanks and brackets: fields 14, 15, 20, 22, 23 and 24 of proc(5). */
	static const unsigned fields[] = { 11, 12, 17, 19, 20, 21 };
	uint64_t n[FL_LEN(fields)];
	struct fl_str rest = stat;

	while (rest.len && rest.p[rest.len - 1] != ')')
		rest.len--;
	rest = fl_str_sub(stat, rest.len, stat.len);
	for (unsigned i = 0; i < FL_LEN(fields); i++)
		if (!fl_str_u64(word(rest, fields[i]), &n[i]))
			return fl_fail(err, FL_E_INVALID, "/proc/self/stat: field %u is no number", fields[i] + 3);
	if (!seconds(word(uptime, 0), &up))
		return fl_fail(err, FL_E_INVALID, "/proc/uptime is no number");
	process->cpu_s = (double)(n[0] + n[1]) / hz;
	process->threads = (double)n[2];
	/* Once: it is computed from two clocks, and must not tremble. */
	if (!process->seen)
		process->start_s = (double)wall / 1e9 - (up - (double)n[3] / hz);
	process->virtual_ = (double)n[4];
	process->resident = (double)n[5] * page;
	read_limits(process, limits);
	process->seen = true;
	return 0;
}

/* ---- the look ---- */

struct look_job {
	struct fl_job job;
	struct fl_io *io;
	size_t stat_len, limits_len, uptime_len;
	unsigned fds;
	char stat[1024], limits[4096], uptime[64];
};

static int64_t read_text(const struct fl_fs *fs, const char *path, char *text, size_t size)
{
	int fd = fs->open(fs, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	int64_t n;

	if (fd < 0)
		return fd;
	n = fl_fs_read_all(fs, fd, text, size);
	fs->close(fs, fd);
	return n;
}

static int64_t count_fds(const struct fl_fs *fs, unsigned *ret)
{
	int fd = fs->open(fs, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_CLOEXEC | O_DIRECTORY, 0);
	char names[4096];
	int64_t n;

	if (fd < 0)
		return fd;
	*ret = 0;
	while ((n = fs->list(fs, fd, names, sizeof names)) > 0) {
		size_t at = 0;

		while (fl_list_next(names, (size_t)n, &at, NULL))
			++*ret;
	}
	fs->close(fs, fd);
	*ret -= *ret > 0;   /* the one by which we looked */
	return n;
}

static int64_t look(struct look_job *look, const struct fl_fs *fs)
{
	int64_t n = read_text(fs, "/proc/self/stat", look->stat, sizeof look->stat);

	if (n < 0)
		return n;
	look->stat_len = (size_t)n;
	n = read_text(fs, "/proc/self/limits", look->limits, sizeof look->limits);
	if (n < 0)
		return n;
	look->limits_len = (size_t)n;
	n = read_text(fs, "/proc/uptime", look->uptime, sizeof look->uptime);
	if (n < 0)
		return n;
	look->uptime_len = (size_t)n;
	return count_fds(fs, &look->fds);
}

static void run(struct fl_job *job, const struct fl_fs *fs)
{
	job->what = "/proc/self";
	job->result = look(fl_container(job, struct look_job, job), fs);
}

static void finish(struct fl_job *job, struct fl_op *op)
{
	struct look_job *look = fl_container(job, struct look_job, job);
	struct fl_process *process = fl_container(op, struct fl_process_look, op)->into;
	struct fl_err err = { 0 };

	if (job->result < 0) {
		fl_op_fail_sys(op, (int)-job->result, "%s", job->what);
		return;
	}
	if (fl_process_read(process, (struct fl_str){ look->stat, (uint32_t)look->stat_len },
			    (struct fl_str){ look->limits, (uint32_t)look->limits_len },
			    fl_str_trim((struct fl_str){ look->uptime, (uint32_t)look->uptime_len }),
			    fl_wall(look->io), &err) < 0) {
		fl_op_fail(op, err.code, "%s", err.text);
		return;
	}
	process->open_fds = look->fds;
	fl_op_end(op, 0);
}

void fl_process_look(struct fl_io *io, struct fl_process_look *look)
{
	struct look_job *job = fl_zalloc(sizeof *job);

	if (!job) {
		fl_op_refuse(&look->op, io, FL_E_NOMEM, "no memory to look at the process");
		return;
	}
	job->io = io;
	job->job = (struct fl_job){ .run = run, .finish = finish };
	fl_job_start(io, &look->op, &job->job, FL_LANE_FILES);
}
