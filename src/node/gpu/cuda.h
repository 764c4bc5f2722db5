/* cuda.h - adds two lists of numbers by CUDA on one GPU, and compares the sums, to check that the GPU works. For the
 * child that ends after it. */
#pragma once
#include "base/err.h"
#include "base/str.h"

/* `folder` holds libcuda.so.1. 1: it computes right. 0: nothing can be checked, as without that library, without
 * memory, or while another process has the GPU exclusively. FL_E_IO: CUDA failed, or the sums are wrong; the text says
 * which. */
int fl_gpu_cuda_check(struct fl_str folder, const char *uuid, struct fl_err *err) FL_MUSTUSE;
