/* A driver's library that calls what nothing defines: it loads as long as nobody calls that. */
int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned *count);
int defined_nowhere(unsigned *count);

int nvmlInit_v2(void)
{
	return 0;
}

int nvmlShutdown(void)
{
	return 0;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
	return defined_nowhere(count);
}
