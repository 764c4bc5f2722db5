/* A library that an image brings: libown.so.1. */
int own(void);

int own(void)
{
	return 7;
}
