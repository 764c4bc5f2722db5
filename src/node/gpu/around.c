/* What there is around us: the driver's files, the kernel's part, the bus. In a worker, for all of it may block. */
#include "base/log.h"
#include "http/files.h"
#include "io/job.h"
#include "node/gpu/in.h"
#include "node/gpu/nv_abi.h"
#include <errno.h>
#include <stdio.h>

struct around_job {
	struct fl_job job;
	struct fl_gpu_found found;
	struct fl_lib_dirs dirs;
	struct fl_pci pci;
	const char *dev_root, *proc, *sysfs, *roots;   /* into the texts */
	char texts[];
};

static void run(struct fl_job *job, const struct fl_fs *fs)
{
	struct around_job *around = fl_container(job, struct around_job, job);

	fl_gpu_find(fs, around->roots, around->dev_root, around->proc, &around->dirs, &around->found);
	fl_pci_look(fs, around->sysfs, &around->pci);
	job->result = 0;
}

/* ---- what it found ---- */

/* Did somebody change what our children have loaded, or what they talk to? */
static bool is_other(const struct fl_gpu_found *a, const struct fl_gpu_found *b)
{
	return a->print != b->print || strcmp(a->library, b->library) != 0 || strcmp(a->version, b->version) != 0 ||
	       strcmp(a->kernel, b->kernel) != 0;
}

static void folder_changed(struct fl_notify *notify, const char *name)
{
	struct fl_gpu *gpu = fl_container(notify, struct fl_gpu, notify);

	/* A package manager touches a thousand files there; "" is any, and that the watch stands. */
	if (name[0] && strncmp(name, FL_NV_LIBRARY, strlen(FL_NV_LIBRARY) - 2) != 0)
		return;
	/* It begins to stand right after a look: what it has missed by that is seen soon enough. */
	if (name[0])
		gpu->around_at = 0;
	else if (gpu->around_at > fl_now(gpu->io) + gpu->pace.look_soon)
		gpu->around_at = fl_now(gpu->io) + gpu->pace.look_soon;
	gpu_wake(gpu);
}

/* A folder that is not there would be looked for each second, which nobody needs: the clock does that, and cheaper.
 * One of the same name is watched anew: the kernel does not tell that a folder was removed for as long as a container
 * has a file of it mounted, and what has taken its place would not be watched. */
static void watch_folder(struct fl_gpu *gpu)
{
	char *slash;

	fl_notify_stop(&gpu->notify);
	memcpy(gpu->folder, gpu->found.library, sizeof gpu->folder);
	slash = strrchr(gpu->folder, '/');
	gpu->folder[slash ? slash - gpu->folder : 0] = '\0';
	if (!gpu->folder[0])
		return;
	gpu->notify = (struct fl_notify){ .changed = folder_changed, .dir = gpu->folder };
	fl_notify_start(gpu->io, &gpu->notify);
}

/* false: we lacked what it takes to look. */
static bool take_found(struct fl_gpu *gpu, const struct fl_gpu_found *found)
{
	bool other = is_other(&gpu->found, found);

	if (found->error) {
		struct fl_err err = { 0 };

		(void)fl_fail_sys(&err, found->error, "search for the driver failed");
		fl_log(gpu->options.log, FL_WARN, "driver search failed, keeping the last result", FL_KV_ERR(&err));
		return false;
	}
	gpu->kernel_seen |= found->kernel[0] != '\0';
	if (!other) {
		gpu->found.node = found->node;
		gpu->found.platform = found->platform;
		return true;
	}
	if (gpu->looked)
		fl_log(gpu->options.log, FL_INFO, "driver changed", FL_KV_TEXT("library", found->library),
		       FL_KV_TEXT("version", found->version), FL_KV_TEXT("kernel", found->kernel));
	gpu->found = *found;
	if (gpu->options.found && found->library[0] && found->version[0])
		gpu->options.found(gpu->options.arg, found->root, found->version);
	watch_folder(gpu);
	if (gpu->looked)   /* else nothing was asked yet */
		gpu_forget(gpu);
	return true;
}

static const struct fl_pci_card *on_bus(const struct fl_pci *pci, const char *address)
{
	for (uint32_t i = 0; i < pci->len; i++)
		if (strcmp(pci->at[i].address, address) == 0)
			return &pci->at[i];
	return NULL;
}

static bool take_card(struct fl_gpu *gpu, const struct fl_pci_card *bus)
{
	struct gpu_card *card = gpu_card_add(gpu, bus->address);
	bool foreign = bus->bound[0] && strcmp(bus->bound, "nvidia") != 0;
	char why[80] = "";

	if (!card)
		return false;
	card->on_bus = true;
	if (foreign) {
		(void)snprintf(why, sizeof why, "the kernel's driver '%s' has it", bus->bound);
		card->answer = FL_CARD_UNASKED;
		card->clean = 0;
		card->hash = 0;
	} else if (card->foreign) {
		card->look_at = fl_now(gpu->io);
	}
	card->foreign = foreign;
	return gpu_put_card(gpu, card, &(struct gpu_change){ .bus = bus, .message = foreign ? why : NULL }) == 0;
}

/* What we lack is there again in a moment; a bus that may not be looked at stays so, and the driver alone knows
 * cards. */
static bool is_lack(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOMEM;
}

/* false: there may be cards that were not told of. */
static bool take_bus(struct fl_gpu *gpu, const struct fl_pci *pci)
{
	uint64_t digest = fl_pci_digest(pci);
	bool whole = true;

	if (pci->error) {
		struct fl_err err = { 0 };

		gpu->bus_digest = 0;
		(void)fl_fail_sys(&err, pci->error, "scan of the bus failed");
		fl_log(gpu->options.log, FL_WARN, "bus scan failed, will retry", FL_KV_ERR(&err));
		return !is_lack(pci->error);
	}
	gpu->bus_names = pci->names;
	if (gpu->looked && digest == gpu->bus_digest)
		return true;
	if (pci->cut && !gpu->bus_cut)
		fl_log(gpu->options.log, FL_WARN, "too many GPUs on the bus, the rest is ignored",
		       FL_KV_INT("gpus", FL_GPU_CARDS_MAX));
	gpu->bus_cut = pci->cut;
	for (uint32_t i = 0; i < pci->len; i++)
		whole &= take_card(gpu, &pci->at[i]);
	for (uint32_t i = gpu->cards.len; i-- > 0;) {
		struct gpu_card *card = &gpu->cards.at[i];

		if (on_bus(pci, card->address))
			continue;
		card->on_bus = false;
		if (card->listed)
			continue;   /* a machine without sysfs: the driver alone knows it */
		fl_log(gpu->options.log, FL_WARN, "GPU gone from the bus", FL_KV_TEXT("gpu", card->address));
		gpu_drop_card(gpu, fl_str(card->address));
		fl_vec_remove(&gpu->cards, i);
	}
	gpu->links_at = 0;
	gpu->bus_digest = whole ? digest : 0;
	return whole;
}

/* Nothing counts as known before a look has succeeded: a card that nobody has seen yet would be one that is gone, and
 * what is remembered of it forgotten. */
static void looked(struct fl_gpu *gpu, bool succeeded)
{
	bool settled = gpu->found.library[0] && gpu->found.kernel[0] && !gpu->pauses &&
		       (gpu->word == GPU_WORD_FINE || gpu->word == GPU_WORD_NONE);
	uint64_t next = settled ? fl_round_in(fl_now(gpu->io), gpu->pace.look_every) : gpu->pace.find_every;

	if (!gpu->bus_digest || (!gpu->looked && !succeeded))   /* not all of it could be told */
		next = gpu->pace.look_soon;
	next += fl_now(gpu->io);
	if (next < gpu->around_at)   /* else another look was asked for during this one */
		gpu->around_at = next;
	if (!gpu->looked && succeeded) {
		gpu->looked = true;
		gpu_say_driver(gpu);
		fl_feed_synced(gpu->drivers);
		fl_feed_synced(gpu->cards_feed);
		fl_feed_synced(gpu->faults_feed);
	}
	gpu_wake(gpu);
}

static void finish(struct fl_job *job, struct fl_op *op)
{
	struct around_job *around = fl_container(job, struct around_job, job);
	struct fl_gpu *gpu = fl_container(op, struct fl_gpu, around);
	bool found = take_found(gpu, &around->found), bus = take_bus(gpu, &around->pci);

	fl_op_end(op, found && bus);
}

static void done(struct fl_op *op)
{
	struct fl_gpu *gpu = fl_container(op, struct fl_gpu, around);

	if (op->result < 0)
		fl_log(gpu->options.log, FL_WARN, "driver search failed, will retry",
		       FL_KV_ERR(&gpu->around_err));
	looked(gpu, op->result > 0);
}

/* ---- other places ---- */

static bool is_searched(const struct fl_gpu_options *options, const struct fl_str *roots, uint32_t len,
			struct fl_str dev)
{
	uint32_t i = 0;

	if (!options->roots)
		return false;
	while (i < len && options->roots[i] && fl_str_eq(roots[i], fl_str(options->roots[i])))
		i++;
	return i == len && !options->roots[i] && fl_str_eq(dev, fl_str(options->dev_root ? options->dev_root : ""));
}

static const char *put_str(char **at, struct fl_str text)
{
	char *put = *at;

	memcpy(put, text.len ? text.p : "", text.len);
	put[text.len] = '\0';
	*at += text.len + 1;
	return put;
}

int fl_gpu_search(struct fl_gpu *gpu, const struct fl_str *roots, uint32_t len, struct fl_str dev)
{
	size_t size = (len + 1) * sizeof *gpu->searched + dev.len + 1;
	const char **searched;
	char *at;

	if (is_searched(&gpu->options, roots, len, dev))
		return 0;
	for (uint32_t i = 0; i < len; i++)
		size += roots[i].len + 1;
	searched = fl_zalloc(size);
	if (!searched)
		return -FL_E_NOMEM;
	at = (char *)(searched + len + 1);
	for (uint32_t i = 0; i < len; i++)
		searched[i] = put_str(&at, roots[i]);
	gpu->options.dev_root = dev.len ? put_str(&at, dev) : NULL;
	gpu->options.roots = searched;
	fl_free(gpu->searched);
	gpu->searched = searched;
	fl_gpu_look(gpu);
	return 0;
}

/* ---- the start ---- */

static char *put_text(char **at, const char *text)
{
	char *put = *at;
	size_t size = strlen(text) + 1;

	memcpy(put, text, size);
	*at += size;
	return put;
}

static void recall_text(char *to, size_t size, struct fl_str text)
{
	(void)snprintf(to, size, "%.*s", FL_ARG(text));
}

/* Those known to be on the bus, with what a second look does not read. The worker may be short: it reads what is known
 * again, and all only when names have changed. */
static void recall(struct fl_gpu *gpu, struct fl_pci *pci)
{
	struct fl_view view = fl_loop_view(gpu->loop, &gpu->arena);

	pci->names = gpu->bus_names;
	fl_vec_each (card, &gpu->cards) {
		struct fl_pci_card *to = &pci->at[pci->len];
		const struct fl_card *known;

		if (!card->on_bus)
			continue;
		known = fl_view_get(&view, &fl_card_kind, FL_S(""), fl_str(card->address));
		if (!known) {
			pci->names = 0;
			return;
		}
		recall_text(to->address, sizeof to->address, fl_str(card->address));
		recall_text(to->path, sizeof to->path, known->bus);
		to->vgpu = known->has.vgpu && known->vgpu;
		recall_text(to->vgpu_version, sizeof to->vgpu_version, known->vgpu_version);
		recall_text(to->vgpu_branch, sizeof to->vgpu_branch, known->vgpu_branch);
		pci->len++;
	}
}

static struct around_job *around_new(struct fl_gpu *gpu)
{
	const struct fl_gpu_options *o = &gpu->options;
	const char *dev_root = o->dev_root ? o->dev_root : "";
	size_t size = strlen(dev_root) + strlen(o->proc) + strlen(o->sysfs) + 4;
	struct around_job *job;
	char *at;

	for (const char *const *root = o->roots; *root; root++)
		size += strlen(*root) + 1;
	job = fl_zalloc(sizeof *job + size);
	if (!job)
		return NULL;
	job->job = (struct fl_job){ .run = run, .finish = finish };
	at = job->texts;
	job->dev_root = put_text(&at, dev_root);
	job->proc = put_text(&at, o->proc);
	job->sysfs = put_text(&at, o->sysfs);
	job->roots = at;
	for (const char *const *root = o->roots; *root; root++)
		(void)put_text(&at, *root);
	recall(gpu, &job->pci);
	return job;
}

void gpu_around(struct fl_gpu *gpu)
{
	struct around_job *job;

	if (!gpu->options.roots || fl_op_busy(&gpu->around) || fl_now(gpu->io) < gpu->around_at)
		return;
	gpu->around = (struct fl_op){ .done = done, .err = &gpu->around_err,
				      .deadline = fl_now(gpu->io) + FL_FILES_DEADLINE };
	job = around_new(gpu);
	if (!job) {
		gpu->around_at = fl_now(gpu->io) + gpu->pace.look_soon;
		return;
	}
	gpu->around_at = FL_NEVER;
	fl_job_start(gpu->io, &gpu->around, &job->job, FL_LANE_NOTIFY);
}
