/* cuda.h - makes and releases the smallest CUDA context on one GPU, to check that the GPU works. For the child that
 * ends after it. */
#pragma once
#include "base/err.h"
#include "base/str.h"

/* `folder` holds libcuda.so.1. 0 also without that library, or while another process has the GPU exclusively: nothing
 * can be checked then. FL_E_IO: CUDA failed; the text has its error. */
int fl_gpu_cuda_check(struct fl_str folder, const char *uuid, struct fl_err *err) FL_MUSTUSE;
