/* fake_params.c - a kernel module that has of NVIDIA's only the file /proc/driver/nvidia/params. */
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>

static int modify = 1;
module_param(modify, int, 0644);

static struct proc_dir_entry *folder;

static int show(struct seq_file *file, void *unused)
{
	seq_printf(file, "ResmanDebugLevel: 4294967295\nModifyDeviceFiles: %d\nDeviceFileUID: 0\n", modify);
	return 0;
}

static int __init add(void)
{
	folder = proc_mkdir("driver/nvidia", NULL);
	return folder && proc_create_single("params", 0444, folder, show) ? 0 : -ENOMEM;
}

static void __exit take_away(void)
{
	proc_remove(folder);
}

module_init(add);
module_exit(take_away);
MODULE_LICENSE("Apache-2.0");
