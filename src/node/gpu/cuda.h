/* cuda.h - the smallest CUDA context on one card, made and given back: does the card work? For the child that is
 * thrown away after it. */
#pragma once
#include "base/err.h"
#include "base/str.h"

/* `folder` holds libcuda.so.1; without it, or where the card is taken by somebody for himself, there is nothing to
 * learn: 0. FL_E_IO with what CUDA says. */
int fl_gpu_cuda_check(struct fl_str folder, const char *uuid, struct fl_err *err) FL_MUSTUSE;
