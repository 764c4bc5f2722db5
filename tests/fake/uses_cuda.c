/* Linked against libcuda.so.1 as programs are that use a GPU, and against libown.so.1, a library of their image: says
 * where the loader has found both. No CUDA device is there for it, for the fake driver's state is not in containers. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

int cuInit(unsigned flags);
int own(void);

static int say(const char *name, uintptr_t function, int answer)
{
	Dl_info info = { 0 };

	if (!dladdr((void *)function, &info))
		return 1;
	return printf("%s: %s answers %d\n", name, info.dli_fname, answer) < 0;
}

int main(void)
{
	return say("libcuda.so.1", (uintptr_t)cuInit, cuInit(0)) || say("libown.so.1", (uintptr_t)own, own());
}
