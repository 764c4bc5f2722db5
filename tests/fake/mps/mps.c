/* nvidia-cuda-mps-control, as far as it can be told from outside: `-d` makes a daemon that writes its pid beside its
 * socket; without it, lines of stdin are commands, and what the daemon answers is printed. Faults to order are words in
 * the file `fault` beside the pipe directory:
 *     nostart   the next -d ends with 1            deaf     no answer to any command
 *     refuse    limits are not taken               servers  there is a server, which is well
 *     fault     there is a server, with a fault    noquit   quit is not heeded
 *     link      a Pod has put a link to ../outside where the pid file will be
 * Each command is a line of control.log in the log directory. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define PID_FILE "nvidia-cuda-mps-control.pid"

static char limits[64][64];
static double percentage = 100;

static int ordered(const char *word)
{
	char text[256];
	int fd = open("../fault", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return strstr(text, word) != NULL;
}

static void log_line(const char *line)
{
	const char *dir = getenv("CUDA_MPS_LOG_DIRECTORY");
	char path[4096];
	FILE *to;

	snprintf(path, sizeof path, "%s/control.log", dir ? dir : "/var/log/nvidia-mps");
	to = fopen(path, "ae");
	if (!to)
		return;
	fprintf(to, "%s\n", line);
	fclose(to);
}

/* The sockets are named relative to the pipe directory: its path may be longer than theirs may be. */
static struct sockaddr_un address(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	snprintf(at.sun_path, sizeof at.sun_path, "control");
	return at;
}

/* What follows a command's name and a space, or NULL: the line is another command. */
static const char *after(const char *line, const char *command)
{
	size_t len = strlen(command);

	return strncmp(line, command, len) == 0 && line[len] == ' ' ? line + len + 1 : NULL;
}

static void answer(const char *line, FILE *to)
{
	const char *set_limit = after(line, "set_default_device_pinned_mem_limit");
	const char *get_limit = after(line, "get_default_device_pinned_mem_limit");
	const char *set_share = after(line, "set_default_active_thread_percentage");
	char *value = NULL;

	if (set_limit) {
		long index = strtol(set_limit, &value, 10);

		if (!ordered("refuse") && index >= 0 && index < 64)
			snprintf(limits[index], sizeof limits[index], "%s", value + strspn(value, " "));
	} else if (get_limit) {
		long index = strtol(get_limit, NULL, 10);

		fprintf(to, "%s\n", index >= 0 && index < 64 ? limits[index] : "");
	} else if (set_share) {
		if (!ordered("refuse"))
			percentage = strtod(set_share, NULL);
		fprintf(to, "%.1f\n", percentage);
	} else if (strcmp(line, "get_default_active_thread_percentage") == 0) {
		fprintf(to, "%.1f\n", percentage);
	} else if (strcmp(line, "get_server_list") == 0) {
		if (ordered("servers") || ordered("fault"))
			fprintf(to, "4711\n");
	} else if (strncmp(line, "get_server_status ", 18) == 0) {
		fprintf(to, "%s\n", ordered("fault") ? "FAULT" : "ACTIVE");
	} else if (strcmp(line, "quit") != 0) {
		fprintf(to, "Unknown command: %s\n", line);
	}
}

static void serve(int client)
{
	FILE *from = fdopen(client, "r"), *to = fdopen(dup(client), "w");
	char line[4096];
	int over = 0;

	while (from && to && fgets(line, sizeof line, from)) {
		line[strcspn(line, "\n")] = '\0';
		log_line(line);
		while (ordered("deaf"))
			usleep(10000);
		answer(line, to);
		over |= strcmp(line, "quit") == 0 && !ordered("noquit");
	}
	if (to)
		fclose(to);
	if (from)
		fclose(from);
	if (!over)
		return;
	unlink(PID_FILE);
	unlink("control");
	exit(0);
}

/* ready: told when others may connect. */
static void be_daemon(int ready)
{
	struct sockaddr_un at = address();
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), null = open("/dev/null", O_RDWR);
	FILE *pid;

	if (ordered("link") && symlink("../outside", PID_FILE) < 0)
		_exit(1);
	pid = fopen(PID_FILE, "we");
	setsid();
	signal(SIGPIPE, SIG_IGN);
	unlink(at.sun_path);
	if (fd < 0 || !pid || bind(fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(fd, 16) < 0)
		_exit(1);
	fprintf(pid, "%d\n", (int)getpid());
	fclose(pid);
	log_line("start");
	for (int i = 0; i < 3; i++)
		dup2(null, i);
	(void)!write(ready, "", 1);
	close(ready);
	for (;;) {
		int client = accept(fd, NULL, NULL);

		if (client >= 0)
			serve(client);
	}
}

static int connected(void)
{
	struct sockaddr_un at = address();
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static int begin(void)
{
	int ready[2];
	char byte;

	if (ordered("nostart")) {
		log_line("told not to start");
		return 1;
	}
	if (connected() >= 0) {
		printf("An instance of this daemon is already running\n");
		return 1;
	}
	if (pipe(ready) < 0)
		return 1;
	if (fork() == 0) {
		close(ready[0]);
		if (fork() == 0)
			be_daemon(ready[1]);
		_exit(0);
	}
	close(ready[1]);
	return read(ready[0], &byte, 1) == 1 ? 0 : 1;
}

int main(int argc, char **argv)
{
	const char *dir = getenv("CUDA_MPS_PIPE_DIRECTORY");
	char bytes[4096];
	int fd;
	ssize_t n;

	if (chdir(dir ? dir : "/tmp/nvidia-mps") < 0) {
		fprintf(stderr, "%s: %s\n", dir ? dir : "/tmp/nvidia-mps", strerror(errno));
		return 1;
	}
	if (argc == 2 && strcmp(argv[1], "-d") == 0)
		return begin();
	fd = connected();
	if (fd < 0) {
		fprintf(stderr, "Cannot find MPS control daemon process\n");
		return 1;
	}
	while ((n = read(0, bytes, sizeof bytes)) > 0)
		if (write(fd, bytes, (size_t)n) != n)
			return 1;
	shutdown(fd, SHUT_WR);
	while ((n = read(fd, bytes, sizeof bytes)) > 0)
		if (write(1, bytes, (size_t)n) != n)
			return 1;
	return 0;
}
