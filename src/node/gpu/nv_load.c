#include "node/gpu/nv_load.h"
#include <dlfcn.h>

enum fl_nv_meaning fl_nv_means(int code)
{
	switch ((enum fl_nv_code)code) {
	case FL_NV_SUCCESS:
	case FL_NV_ALREADY_INITIALIZED: return FL_NV_IS_FINE;
	case FL_NV_INVALID_ARGUMENT:
	case FL_NV_NOT_SUPPORTED:
	case FL_NV_FUNCTION_NOT_FOUND:
	case FL_NV_DEPRECATED:
	case FL_NV_VGPU_ECC_NOT_SUPPORTED:
	case FL_NV_FREQ_NOT_SUPPORTED:
	case FL_NV_NO_DATA: return FL_NV_IS_ABSENT;
	case FL_NV_ARGUMENT_VERSION_MISMATCH: return FL_NV_IS_OLDER;
	case FL_NV_UNINITIALIZED:
	case FL_NV_DRIVER_NOT_LOADED:
	case FL_NV_LIBRARY_NOT_FOUND:
	case FL_NV_NOT_READY: return FL_NV_IS_NO_DRIVER;
	case FL_NV_LIB_RM_VERSION_MISMATCH: return FL_NV_IS_REPLACED;
	case FL_NV_NO_PERMISSION:
	case FL_NV_OPERATING_SYSTEM: return FL_NV_IS_DENIED;
	case FL_NV_NOT_FOUND:
	case FL_NV_GPU_NOT_FOUND:
	case FL_NV_INSUFFICIENT_SIZE: return FL_NV_IS_NO_SUCH;
	case FL_NV_IRQ_ISSUE:
	case FL_NV_CORRUPTED_INFOROM:
	case FL_NV_GPU_IS_LOST:
	case FL_NV_RESET_REQUIRED: return FL_NV_IS_LOST;
	case FL_NV_IN_USE:
	case FL_NV_INSUFFICIENT_RESOURCES:
	case FL_NV_INVALID_STATE:
	case FL_NV_RESET_TYPE_NOT_SUPPORTED: return FL_NV_IS_BUSY;
	case FL_NV_TIMEOUT: return FL_NV_IS_QUIET;
	case FL_NV_INSUFFICIENT_POWER:
	case FL_NV_MEMORY:
	case FL_NV_UNKNOWN: break;
	}
	return FL_NV_IS_FAILED;
}

static enum fl_code code_of(enum fl_nv_meaning meaning)
{
	switch (meaning) {
	case FL_NV_IS_NO_DRIVER: return FL_E_NOTFOUND;
	case FL_NV_IS_REPLACED:
	case FL_NV_IS_ABSENT:
	case FL_NV_IS_OLDER: return FL_E_UNSUPPORTED;
	case FL_NV_IS_DENIED: return FL_E_DENIED;
	case FL_NV_IS_LOST: return FL_E_CLOSED;
	case FL_NV_IS_FINE:
	case FL_NV_IS_NO_SUCH:
	case FL_NV_IS_BUSY:
	case FL_NV_IS_QUIET:
	case FL_NV_IS_FAILED: break;
	}
	return FL_E_IO;
}

int fl_nv_fail(const struct fl_nv *nv, int code, const char *what, struct fl_err *err)
{
	const char *name = fl_nv_code_name(code);
	const char *words = nv->call.error_string ? nv->call.error_string(code) : NULL;

	return fl_fail(err, code_of(fl_nv_means(code)), "%s: %s (%d)%s%s", what,
		       name ? name : "an unknown code", code, words ? ": " : "", words ? words : "");
}

/* POSIX lets dlsym's object pointer be a function; ISO C has no word for it. */
static void *find_symbol(void *library, const char *name)
{
	return dlsym(library, name);
}

int fl_nv_open(struct fl_nv *nv, const char *path, struct fl_err *err)
{
	int code;

	if (nv->library)
		return 0;
	if (path[0] != '/')
		return fl_fail(err, FL_E_INVALID, "'%s': the driver's library is named by an absolute path", path);
	/* Lazily, as NVIDIA's own clients do: a library may have symbols that nothing defines and nobody calls. */
	nv->library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!nv->library) {
		const char *words = dlerror();

		return fl_fail(err, FL_E_NOTFOUND, "cannot load %s", words ? words : path);
	}
	if (fl_nv_resolve(&nv->call, find_symbol, nv->library) == 0 || !nv->call.init) {
		(void)dlclose(nv->library);
		*nv = (struct fl_nv){ 0 };
		return fl_fail(err, FL_E_NOTFOUND, "'%s' is no library of the driver: it has no nvmlInit", path);
	}
	code = nv->call.init();
	if (fl_nv_means(code) == FL_NV_IS_FINE)
		return 0;
	(void)fl_nv_fail(nv, code, "nvmlInit", err);
	(void)dlclose(nv->library);
	*nv = (struct fl_nv){ 0 };
	if (code != FL_NV_GPU_NOT_FOUND)
		return -(int)code_of(fl_nv_means(code));
	if (err)   /* of a card this would be something else; here it says that there is none at all yet */
		err->code = FL_E_NOTFOUND;
	return -FL_E_NOTFOUND;
}

void fl_nv_close(struct fl_nv *nv)
{
	if (!nv->library)
		return;
	(void)FL_NV(nv, shutdown);
	(void)dlclose(nv->library);
	*nv = (struct fl_nv){ 0 };
}
