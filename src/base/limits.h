/* limits.h - every ceiling of the program, each with its reason. */
#pragma once

#define FL_KIB 1024ull
#define FL_MIB (1024ull * FL_KIB)

/* One block of memory: nothing planned comes near (a map of 10 million objects has 256 MiB), so a larger wish is a
 * length that somebody else chose. */
#define FL_ALLOC_MAX (1024 * FL_MIB)

/* Memory of one request or parse; the largest thing in one arena is a decoded list item or a YAML stream. */
#define FL_ARENA_MAX (64 * FL_MIB)
#define FL_ARENA_BLOCK_FIRST (4 * FL_KIB)   /* one page: most requests need no second block */
#define FL_ARENA_BLOCK_KEEP (64 * FL_KIB)   /* by a loop between two turns: a plan of a few hundred objects */
#define FL_ARENA_BLOCK_LAST (256 * FL_KIB)  /* growth stops here: waste stays below a quarter MiB */

#define FL_NS_PER_MS 1000000ull
#define FL_NS_PER_S 1000000000ull

/* ---- log ---- */

#define FL_LOG_LINE 4096        /* PIPE_BUF: a pipe takes it whole, so lines of two processes never mix */
#define FL_LOG_VALUE 1024       /* one long text from outside leaves room for the others */
#define FL_LOG_BURST 20         /* a line a card of the largest machine, and some to spare */
#define FL_LOG_EVERY FL_NS_PER_S
#define FL_LOG_SITES 256        /* places that log in one process, 24 bytes each */

/* ---- metrics ---- */

#define FL_METRIC_LABELS 6          /* more make a metric that nobody can query */
#define FL_METRIC_NAME 100          /* bytes of a name; the longest of DCGM has 60 */
#define FL_METRIC_VALUE 253         /* bytes of a label's value: a DNS name, hence any object's */
#define FL_METRIC_BUCKETS_MAX 32
#define FL_METRIC_SERIES 2000       /* of one family unless its row says otherwise: 16 cards × 100 Pods, some room */
#define FL_METRICS_TEXT (16 * FL_MIB)   /* one scrape: 100,000 series of 160 bytes */

/* ---- options ---- */

#define FL_OPTIONS 64               /* of one command: a bit each, and more than a person reads */
#define FL_OPTION_NAME 40
#define FL_OPTION_VALUES 10000      /* of a list on the command line: its shell has a limit of its own, near 2 MiB */
#define FL_HELP_COLUMNS 80          /* of a terminal that nobody has widened */
#define FL_HELP_MAX (256 * FL_KIB)  /* the manual of all commands */

/* ---- json ---- */

/* One whole document at a time: a 20 MB list that a person's command reads. A document costs up to 16 times its
 * text. */
#define FL_JSON_MAX (32 * FL_MIB)
/* Go stops at 10,000, but nothing real comes near 100, and yyjson's patches and comparison recurse: this many of their
 * frames fit into a small stack. */
#define FL_JSON_DEPTH 1000
/* What a parser's memory keeps between documents: an object of 60 KB is parsed without an allocation. */
#define FL_JSON_SPACE_KEEP (256 * FL_KIB)
/* One object of a list or watch: the API server takes requests up to 3 MiB, etcd half of that. */
#define FL_JSON_ITEM_MAX (4 * FL_MIB)
/* What stands around a list's items: kind, metadata, a continue token of some hundred bytes; a Status with its
 * causes. */
#define FL_SPLIT_AROUND_MAX (64 * FL_KIB)
/* What a waiting watch keeps of its buffer: most objects are smaller. */
#define FL_SPLIT_KEEP (16 * FL_KIB)

/* ---- journal, supervisor ---- */

/* Key and value of one record: a claim with 64 devices takes 4 KiB. */
#define FL_JOURNAL_RECORD_MAX (16 * FL_KIB)
/* Live records: a node holds some hundreds of some hundred bytes; ten times that is a bug somewhere, and is refused. */
#define FL_JOURNAL_LIVE_MAX (1 * FL_MIB)
/* The log is rewritten as a snapshot when it is this long and twice as long as what lives: read in a millisecond. */
#define FL_JOURNAL_LOG_MAX (256 * FL_KIB)
/* A file beyond this was not written by us: the largest snapshot, and the log when no new file could be begun. */
#define FL_JOURNAL_FILE_MAX (4 * FL_MIB)
/* Of a file, taken over in one turn of the loop: a third of a millisecond. The longest file takes 32. */
#define FL_JOURNAL_SLICE (128 * FL_KIB)
/* Bytes that wait for the disk: a disk that stands still must not fill the memory. */
#define FL_JOURNAL_QUEUE_MAX (256 * FL_KIB)
/* Of a journal's name, so that file names fit into small buffers. */
#define FL_JOURNAL_NAME_MAX 64
/* What is told of the files at the start: one line for each that is looked at, and one for a disk that is full. */
#define FL_JOURNAL_FACTS_MAX 9
/* Damaged files that are kept for people to look at; beyond, the oldest goes. */
#define FL_JOURNAL_ASIDE_MAX 8

/* One message between a program and its child: the answer about 16 GPUs with all their processes is 64 KiB. */
#define FL_FRAME_MAX (256 * FL_KIB)
/* Requests that wait for a child: what is asked beyond that would only time out. */
#define FL_SUPERVISOR_QUEUE_MAX 64
/* A line of a child's stderr; longer ones are cut. */
#define FL_SUPERVISOR_LINE_MAX 1024
/* From exec to the first frame: dlopen of a driver's library on a busy node takes a second or two. */
#define FL_SUPERVISOR_HELLO (10 * FL_NS_PER_S)
/* A child that was killed is gone in milliseconds, unless it is stuck in the kernel. Replaced within a second. */
#define FL_SUPERVISOR_KILL_WAIT (500 * FL_NS_PER_MS)
/* One whose socket has ended may say by its exit why. */
#define FL_SUPERVISOR_EXIT_WAIT (200 * FL_NS_PER_MS)
/* The first replacement comes at once; then ever later, until one has lived so long that the next is a first one. */
#define FL_SUPERVISOR_RETRY_FIRST (250 * FL_NS_PER_MS)
#define FL_SUPERVISOR_RETRY_LAST (30 * FL_NS_PER_S)
#define FL_SUPERVISOR_GOOD (60 * FL_NS_PER_S)
/* Children that do not die, each with the memory of a driver's library: more would not help. */
#define FL_SUPERVISOR_STUCK_MAX 4

/* ---- io ---- */

/* Events taken from the kernel at a time: few enough to stop in time, enough that the call is 2 % of the work. */
#define FL_TURN_EVENTS 64
/* A turn stops here and goes on in the next: half of the promised 2 ms, so one callback may take the other half. */
#define FL_TURN_BUDGET (1 * FL_NS_PER_MS)
/* Connections that wait for accept; the kernel cuts it to somaxconn. A kubelet or API server never has this many. */
#define FL_LISTEN_BACKLOG 4096
/* A unix socket whose backlog is full is tried again: a server that accepts at all does so within a few ms. */
#define FL_CONNECT_RETRY (5 * FL_NS_PER_MS)
/* fds handed to a child: stdin, stdout, stderr and a few pipes. */
#define FL_SPAWN_FDS 16
/* A job still running when its loop is freed: a disk that answers does so in this time, one that hangs never does. */
#define FL_IO_FREE_WAIT (1 * FL_NS_PER_S)
/* A dying child that the kernel would not watch for want of memory is looked at this often. */
#define FL_REAP_RETRY (100 * FL_NS_PER_MS)
/* Stack of a worker: name lookup is the hungriest (its buffers alone take 64 KiB); only touched pages cost memory. */
#define FL_WORKER_STACK (256 * FL_KIB)
/* First piece of a file: tokens, certificates and state files come in one go. */
#define FL_EMPTY_DEPTH_MAX 32        /* folders below one that others fill: 16 KiB of stack */
#define FL_OPEN_RACES_MAX 64         /* walks of a path that renames raced with: an honest neighbour ends after one */
#define FL_FILE_FIRST (4 * FL_KIB)
/* A lock is tried again: soon, so that a hand-over takes a few ms; then slower, so that a standby costs nothing. */
#define FL_LOCK_RETRY_FIRST (5 * FL_NS_PER_MS)
#define FL_LOCK_RETRY_LAST (100 * FL_NS_PER_MS)
/* A directory that is not there is tried again, and one without a kernel watch is listed: soon at first, as it may be
 * made just now; then so seldom that it costs nothing. */
#define FL_NOTIFY_RETRY_FIRST (10 * FL_NS_PER_MS)
#define FL_NOTIFY_RETRY_LAST (1 * FL_NS_PER_S)
/* Name of a host: RFC 1035, and a dot at its end. */
#define FL_HOST_MAX 254

/* ---- http ---- */

/* One head, all fields together, as they stand in a list: a bearer token takes 1.5 KiB, its old Kerberos cousins 12. */
#define FL_HTTP_HEAD_MAX (32 * FL_KIB)
#define FL_HTTP_FIELDS_MAX 128              /* fields of one head; a browser behind three proxies sends 40 */
#define FL_H1_LINE_MAX 256                  /* chunk size with extensions, which nobody sends */
#define FL_HTTP_BODY_MAX (8 * FL_MIB)       /* a collected request: an AdmissionReview holds two objects of 3 MiB */
#define FL_HTTP_REPLY_MAX (32 * FL_MIB)     /* a collected response: as large as a JSON document may be */
/* What one reader of a streamed answer may lag behind: some hundred watch events. Beyond it is cut and lists again. */
#define FL_HTTP_QUEUE_MAX (1 * FL_MIB)
#define FL_HTTP_SAY_MAX (64 * FL_KIB)       /* an answer in words: a reason for each of some hundred devices */
#define FL_HTTP_BODIES_MAX (64 * FL_MIB)    /* all requests that are being collected, together: eight of the largest */
#define FL_HTTP_BODY_PACE 1024              /* bytes of a body that come in each FL_HTTP_BODY_TIMEOUT, or it is cut */
#define FL_HTTP_UNCONSUMED (64 * FL_KIB)    /* HTTP/1.1: of a streamed body, before its handler has taken it */
#define FL_HTTP_LISTENERS_MAX 4             /* IPv4 or both, a unix socket, plain for probes, one to spare */
#define FL_HTTP_CONNS_MAX 10000             /* open connections of one server: 15 KiB each with TLS is 150 MiB */
#define FL_HTTP_PROBE_CONNS 8               /* beyond that, for probes: a kubelet has three, each a connection */
#define FL_HTTP_PROBE_SHARE 3               /* of those, for one address: two addresses leave 2 for a third */
/* A handshake, a head, a body or the taking of an answer that takes longer may have to make room. */
#define FL_HTTP_ROOM_AFTER (2 * FL_NS_PER_S)
#define FL_HTTP_HANDSHAKES_MAX 64           /* at once: 0.5 ms each, so the last one of them waits 32 ms */
#define FL_HTTP_HANDSHAKE_TIMEOUT (10 * FL_NS_PER_S)    /* a client's; a server's is longer, for a busy machine: */
#define FL_HTTP_HANDSHAKE_PATIENCE (30 * FL_NS_PER_S)   /* where places are short, silent peers make room before */
#define FL_HTTP_HEAD_TIMEOUT (10 * FL_NS_PER_S)     /* for a whole head, from its first byte or the accept */
#define FL_HTTP_IDLE_TIMEOUT (150 * FL_NS_PER_S)    /* a connection without a request; Go clients drop theirs at 90 s */
#define FL_HTTP_BODY_TIMEOUT (15 * FL_NS_PER_S)     /* without a byte of the body */
#define FL_HTTP_WRITE_TIMEOUT (30 * FL_NS_PER_S)    /* without the peer's socket taking a byte */
#define FL_HTTP_WRITE_PACE 1024             /* bytes of an answer that the peer takes in each such time, or it is cut */
#define FL_HTTP_LINGER (2 * FL_NS_PER_S)            /* for the peer to read our last words */
#define FL_HTTP_ACCEPT_PAUSE (100 * FL_NS_PER_MS)   /* when accept fails, for want of fds: until it is tried again */
/* For an address, for the lookup: a lost SYN comes again after 1 s. */
#define FL_HTTP_CONNECT_TIMEOUT (5 * FL_NS_PER_S)
/* A client's connection without a call: before the server closes it. */
#define FL_HTTP_CLIENT_IDLE (90 * FL_NS_PER_S)
#define FL_HTTP_CLIENT_CONNS 4                      /* of one client: 250 streams each with HTTP/2 */
#define FL_HTTP_REPLAYS 3                           /* a server that refuses a stream so often means it */
#define FL_HTTP_GOAWAY_WAIT (1 * FL_NS_PER_S)       /* between the polite GOAWAY and the one for good */

#define FL_TLS_CA_STEP 2                            /* certificates read in one turn: 0.2 to 0.4 ms each */
#define FL_FILES_TEXT_MAX (256 * FL_KIB)            /* a CA bundle of a hundred certificates */
#define FL_FILES_SETTLE (50 * FL_NS_PER_MS)         /* after a change: whoever writes two files is not done yet */
#define FL_FILES_RETRY (5 * FL_NS_PER_S)            /* after a failure, if nothing changes before */
#define FL_FILES_POLL (60 * FL_NS_PER_S)            /* changes may go unnoticed; tokens are renewed an hour ahead */
#define FL_FILES_DEADLINE (10 * FL_NS_PER_S)        /* a disk that hangs is told, too */

#define FL_H2_STREAMS 250                           /* open at once on a connection, as Go's server has it */
#define FL_H2_STREAM_WINDOW (256 * FL_KIB)          /* fills 2 Gbit/s at 1 ms; a paused stream keeps this much */
#define FL_H2_CONN_WINDOW (16 * FL_MIB)             /* never what holds a stream up */
#define FL_H2_QUEUE_MAX 1000                        /* frames owed to a peer that does not read: beyond it is cut */
#define FL_H2_RESETS_BURST 200                      /* rapid reset: streams that a peer may reset at once ... */
#define FL_H2_RESETS_RATE 50                        /* ... and a second after that */
#define FL_H2_CONTINUATIONS 4                       /* frames of 16 KiB after the first: twice FL_HTTP_HEAD_MAX */

/* ---- binding tables ---- */

/* Objects in lists in objects: the deepest kind (a Pod template's parts are RAW) has 8. */
#define FL_BIND_DEPTH 32
/* A path, or one scalar as text: field names are short, and a label key takes 317 bytes. */
#define FL_BIND_PATH (1 * FL_KIB)
/* Faults told of one object: a person repairs them one by one, and a cache of broken objects stays small. */
#define FL_FAULTS_MAX 8
/* Of a value that could not be bound: enough to find it again. */
#define FL_FAULT_FOUND 60
/* All CRDs as YAML, or a page of docs: those of the pools take 60 KiB. */
#define FL_CRD_MAX (4 * FL_MIB)
/* A misspelt name longer than this gets no "did you mean". */
#define FL_NAME_NEAR 40

/* ---- grpc ---- */

#define FL_GRPC_MESSAGE_MAX (4 * FL_MIB)   /* a request: what grpc-go takes by default */
#define FL_GRPC_REPLY_MAX (16 * FL_MIB)    /* a reply: PodResources of a node with thousands of containers */
#define FL_GRPC_QUEUE_MAX (8 * FL_MIB)     /* what a caller may leave untaken: two of the largest messages */
#define FL_GRPC_WORDS_MAX (4 * FL_KIB)     /* a status message; grpc-go refuses header lists over 16 KiB */
#define FL_GRPC_CLIENT_WINDOW (1 * FL_MIB) /* a stream's: a node's whole PodResources without waiting */
#define FL_GRPC_CONNECT_TIMEOUT (10 * FL_NS_PER_S)   /* a unix socket answers at once or is as good as dead */
/* A selector comes in a URL, and servers take 8 KiB of that. */
#define FL_SELECTOR_MAX (16 * FL_KIB)
/* YAML: a bundle of CRDs has 5 MB. libyaml's time grows with the square of the nesting, and nothing real nests beyond
 * 60 (a CRD's schema of a Pod template). Aliases save writing, not megabytes. */
#define FL_YAML_MAX (16 * FL_MIB)
#define FL_YAML_DEPTH 100
#define FL_YAML_ALIAS_MAX (1 * FL_MIB)
/* Patches: as many operations as the API server takes; memory for the largest object, made of one-digit numbers and
 * nothing else (24 bytes for two), twice over. An operation "copy" doubles what it copies. */
#define FL_PATCH_OPS 10000
#define FL_PATCH_MEMORY (24 * FL_JSON_ITEM_MAX)

/* ---- plan ---- */

/* A message of a plan, for people: the API server lets a condition have 32 KiB, and nobody reads more than a page. */
#define FL_PLAN_TEXT 2048
/* Whole devices of which the best are found exactly: every set of so many is looked at, 65,536 of them with two numbers
 * each; the largest boards have 16. Beyond, the best of so many beginnings. */
#define FL_PREFER_EXACT 16
#define FL_PREFER_BEGINNINGS 64

/* ---- node: what it decides by ---- */

#define FL_SETTINGS_FILE_MAX (1 * FL_MIB)     /* NVIDIA's configuration: a ConfigMap holds no more */
#define FL_SETTINGS_LIST 64                   /* shared resources, pools, XIDs: more than there are of any */
#define FL_SETTINGS_WAIT_MAX (3600 * FL_NS_PER_S)   /* no longer is a healthy GPU kept away for its past */

/* A GPU flaps from so many breaks on: two may be one fault and its remedy. */
#define FL_FLAP_BREAKS 3
#define FL_FLAP_WINDOW (600 * FL_NS_PER_S)    /* so long without a break takes one back */
#define FL_FLAP_TOLD 10                       /* break counts are exact up to this; above it: "more than" */
#define FL_FLAP_RELAPSES_MAX 32               /* doublings: they exceed FL_SETTINGS_WAIT_MAX from 1 us on */

/* ---- run ---- */

/* What the loop takes of a turn: a quarter of the promised 2 ms, so that others, and the plan that runs, have the
 * rest. */
#define FL_RUN_SLICE (FL_NS_PER_MS / 2)
#define FL_RUN_STEPS 16              /* objects looked through between two looks at the clock: some 30 us */
/* On their way at once: keeps a connection full at 1 ms, and is under any server's share. */
#define FL_RUN_WRITES 64
/* Keys that wait while the rest of a beginning is still in the cache: several rounds of writes. All of 50,000 at once
 * would take 10 MB. */
#define FL_RUN_QUEUE 512
/* Of a namespace, a NUL and a name of something that is written: DNS names, 253 bytes each. */
#define FL_RUN_NAME 1024
#define FL_RUN_WATCHES 24            /* kinds that one capability reads */
/* A conflict is over when the watch has caught up, which takes a few ms. Without a word from it, it is tried again. */
#define FL_RUN_CONFLICT (10 * FL_NS_PER_S)
#define FL_RUN_WRITE_TIMEOUT (30 * FL_NS_PER_S)   /* of one write, waiting for a server that is busy included */
#define FL_RUN_RETRY_FIRST (100 * FL_NS_PER_MS)
#define FL_RUN_RETRY_LAST (300 * FL_NS_PER_S)     /* what is wrong for hours costs a request every five minutes */
#define FL_LOCAL_RETRY_LAST (10 * FL_NS_PER_S)    /* a disk, or memory, costs nobody else: soon after it heals */
#define FL_RUN_SAID_MAX (1 * FL_MIB) /* what plans say for explain, all together; beyond, the latest is not kept */
/* The same thing written so often within the window is being taken away by somebody, and rests for a while. */
#define FL_CONTEST_TRIES 5
#define FL_CONTEST_WINDOW (60 * FL_NS_PER_S)
#define FL_CONTEST_REST (600 * FL_NS_PER_S)
/* A write that nobody has taken away for as long ends the contest: whoever is slower is no fight to us either. */
#define FL_CONTEST_HELD FL_CONTEST_WINDOW
#define FL_CONTEST_MAX 4096          /* writes that are remembered for this, 64 bytes each; the oldest goes */
/* A directory whose files are objects: hints may be lost without a word, so it is read once a minute. */
#define FL_FOLDER_POLL (60 * FL_NS_PER_S)
#define FL_FOLDER_FILE_MAX (1 * FL_MIB)       /* the kubelet's checkpoint of 110 Pods, CDI specs of 16 GPUs: a tenth */
#define FL_FOLDER_NAMES_FIRST (4 * FL_KIB)    /* what is read of names at once: some hundred */
#define FL_FOLDER_NAMES_MAX (256 * FL_KIB)    /* all names: thousands, and a leak of files is told and not followed */
#define FL_FOLDER_HINTS_MAX (4 * FL_KIB)      /* names of changed files that wait; beyond, all are read */
#define FL_PACKED_MAX (2 * FL_MIB)   /* one cached object: etcd stores none larger than 1.5 MiB as JSON */

/* ---- kube ---- */

#define FL_KUBECONFIG_MAX (4 * FL_MIB)   /* one file: a thousand clusters with their certificates */
#define FL_KUBECONFIG_FILES 64           /* in $KUBECONFIG: more than anybody lists */
#define FL_CREDENTIAL_MAX (256 * FL_KIB) /* a token, a certificate, a bundle of CAs; what an exec plugin prints */
/* Files are looked at this often: projected tokens have minutes to spare. */
#define FL_CREDENTIAL_AGE (60 * FL_NS_PER_S)
#define FL_FILE_TIMEOUT (10 * FL_NS_PER_S)     /* to read one of them: a disk that is sick longer is told */
/* A CDI file that nobody has tried to write for so long is not wanted any more. Tries that fail are FL_LOCAL_RETRY_LAST
 * apart at most, and FL_FILE_TIMEOUT long on a disk that hangs. */
#define FL_CDI_TROUBLE_STALE (60 * FL_NS_PER_S)
#define FL_EXEC_TIMEOUT (60 * FL_NS_PER_S)     /* of an exec plugin: some talk to slow identity providers */
#define FL_EXEC_EARLY (30 * FL_NS_PER_S)       /* a credential is renewed so long before it ends: clocks differ */
#define FL_EXEC_AGAIN_FIRST (1 * FL_NS_PER_S)  /* what it gave is refused, too: it is asked again so late, ... */
#define FL_EXEC_AGAIN_LAST (30 * FL_NS_PER_S)  /* ... then twice as late: many may ask an identity provider at once */
#define FL_EXEC_DOUBT (60 * FL_NS_PER_S)       /* one that is over by our clock is tried so long: the server's counts */
#define FL_KUBE_PAGE 500                 /* objects in one page of a list, as client-go has it: 2 MB of Pods */
#define FL_KUBE_CONNS 64                 /* of one client: one with HTTP/2; with HTTP/1.1 each watch has its own */
#define FL_KUBE_TARGET_MAX (16 * FL_KIB) /* path and query: servers take this much, selectors included */
#define FL_KUBE_REPLY_MAX (4 * FL_MIB)   /* one object or Status, collected: as large as an object can be */
#define FL_KUBE_MANY 16                  /* writes on their way: their answers and echoes are read together, ... */
/* ... so often while one write takes its time: half of them come together, while the server has the other half. To wake
 * up on a machine that works for others costs 0.3 ms of processor, most of it cold caches, and a write 0.05. */
#define FL_KUBE_BATCH_SHARE 2
#define FL_KUBE_BATCH_MIN (4 * FL_NS_PER_MS)  /* a server that is quicker has nothing to wait for */
#define FL_KUBE_BATCH_MAX (64 * FL_NS_PER_MS) /* what else comes on the connection waits, too */
#define FL_KUBE_LONG_LIST (256 * FL_KIB) /* a list beyond this: less is there in a moment */
#define FL_KUBE_LIST_PIECE (32 * FL_KIB) /* ... is read in pieces of this, where so much takes a while to come, ... */
#define FL_KUBE_LIST_REST_MAX (8 * FL_NS_PER_MS)   /* ... which is not waited for longer than this */
#define FL_KUBE_SPARES 64                /* calls' own memory, kept for the next: as many as a loop has on their way */
#define FL_KUBE_SPARE_BUF (4 * FL_KIB)   /* ... with each of four buffers, unless it grew beyond */
#define FL_KUBE_TRIES 10                 /* of one call after 429 and the like, as client-go */
/* A Retry-After beyond this is taken as this: the server may have forgotten. */
#define FL_KUBE_RETRY_MAX (60 * FL_NS_PER_S)
#define FL_KUBE_PING_EVERY (15 * FL_NS_PER_S)  /* a connection that is silent so long is asked ... */
#define FL_KUBE_PING_WITHIN (10 * FL_NS_PER_S) /* ... and lost without an answer: a frozen server shows within 25 s */
#define FL_KUBE_HEAD_TIMEOUT (60 * FL_NS_PER_S)   /* to the answer's head: the API server's own limit of a request */
/* A watch is ended and resumed after 5 to 10 minutes, as client-go's: what went wrong unseen goes wrong no longer. */
#define FL_WATCH_TIMEOUT_S 300
/* Bookmarks come every minute; three that do not come mean a server whose cache stands still. */
#define FL_WATCH_QUIET (200 * FL_NS_PER_S)
#define FL_WATCH_DELAY_FIRST (200 * FL_NS_PER_MS)   /* back-off: a restart of the API server takes seconds ... */
#define FL_WATCH_DELAY_LAST (30 * FL_NS_PER_S)      /* ... and an outage must not be made longer by those who ask */
/* A kind that is not there: soon, as its CRD may be on its way ... */
#define FL_WATCH_ASK_FIRST (1 * FL_NS_PER_S)
#define FL_WATCH_ASK_LAST (30 * FL_NS_PER_S)        /* ... then so seldom that it costs little */
/* A built-in kind comes only with another server. After the first minute of asking, 5,000 nodes ask 6 times a
 * second. */
#define FL_WATCH_ASK_SOON 5
#define FL_WATCH_ASK_BUILT_IN (600 * FL_NS_PER_S)
#define FL_LEASE_DURATION (15 * FL_NS_PER_S)        /* as client-go's: 15, 10 and 2 s */
#define FL_LEASE_GIVE_UP (10 * FL_NS_PER_S)
#define FL_LEASE_RETRY (2 * FL_NS_PER_S)
#define FL_EVENT_MAX 256                 /* series that are remembered: 1 KiB each; the oldest goes */
#define FL_EVENT_NOTE 1024               /* bytes, as the API server has it */
#define FL_EVENT_WORD 128                /* bytes of reason and action, as the API server has it */
#define FL_EVENT_RATE 5                  /* Events a second of one process ... */
#define FL_EVENT_RATE_BURST 25           /* ... and this many at once: a rack that fails is told card by card */
#define FL_EVENT_BURST 25                /* about one subject: as client-go about an object ... */
#define FL_EVENT_EVERY (30 * FL_NS_PER_S)      /* ... and one more each half minute */
#define FL_EVENT_SERIES_EVERY (60 * FL_NS_PER_S)   /* a series that goes on is written again this often at most */
#define FL_EVENT_SERIES_END (360 * FL_NS_PER_S)    /* nothing said for so long: the next is a new Event */
#define FL_EVENT_TIMEOUT (10 * FL_NS_PER_S)
#define FL_EVENT_RETRY_FIRST (2 * FL_NS_PER_S)     /* without an answer: an outage is waited out ... */
#define FL_EVENT_RETRY_LAST (30 * FL_NS_PER_S)
#define FL_EVENT_KEPT (3600 * FL_NS_PER_S)         /* ... for as long as the API server keeps an Event */

/* ---- serve ---- */

#define FL_PAGES_MAX 24                        /* of one role: a person reads the list of them */
#define FL_PAGES_CONNS 64                      /* kubelet, two scrapers, people; more is somebody's loop */
#define FL_PAGES_STREAMS 16                    /* on each: 64 KiB for a head and what it is answered is 64 MiB in all */
#define FL_READY_MAX (60 * FL_KIB)             /* what /readyz says: below FL_HTTP_SAY_MAX, to arrive whole */
/* What a scrape takes of a turn: a quarter of the promised 2 ms. One family is the least, and has FL_METRIC_SERIES. */
#define FL_SCRAPE_SLICE (FL_NS_PER_MS / 2)
#define FL_SCRAPE_PIECE (256 * FL_KIB)         /* of the text, before the client has taken it */
/* To look into /proc; a disk that hangs keeps the worker, and a scrape then tells what was seen before. */
#define FL_PROCESS_TIMEOUT (200 * FL_NS_PER_MS)
#define FL_EXPLAIN_MAX (256 * FL_KIB)          /* of one object: ten plans, thousands of words each */
#define FL_QUERY_VALUE 512                     /* a name has 253 bytes, a group's kind twice that */
#define FL_GUARD_KEPT_MAX 64                   /* verdicts on tokens: some scrapers, and a few tokens of each hour */
#define FL_GUARD_ALLOWED (60 * FL_NS_PER_S)    /* ... before the API server is asked again: a revoked token lives on */
#define FL_GUARD_DENIED (10 * FL_NS_PER_S)     /* ... where it said no: a right that is missing may be given */
/* An allowed token is served at most so long without a new review, and its address is trusted so long. */
#define FL_GUARD_STALE (600 * FL_NS_PER_S)
#define FL_GUARD_TIMEOUT (5 * FL_NS_PER_S)     /* of both reviews: a scrape has ten */
#define FL_GUARD_AGAIN (2 * FL_NS_PER_S)       /* ... of a token that was allowed: some scrapers wait for 3 s only */
#define FL_GUARD_ASKS 16                       /* reviews at once ... */
#define FL_GUARD_REVIEWS 40                    /* ... and begun in a second */
#define FL_GUARD_ASKS_NEW (FL_GUARD_ASKS - 1)          /* ... of these, for others than tokens that were allowed */
#define FL_GUARD_REVIEWS_NEW (FL_GUARD_REVIEWS - 3)
/* An address that has shown a token that was allowed in the last FL_GUARD_STALE is trusted and has a half of both:
 * behind the API server's proxy are many people, each with new tokens. Others have a quarter each and a half together:
 * whoever guesses tokens, from many addresses, leaves a half to those that scrape. Of that half a quarter at most is
 * for addresses that come again. */
#define FL_GUARD_ASKS_HALF (FL_GUARD_ASKS / 2)
#define FL_GUARD_ASKS_UNTRUSTED (FL_GUARD_ASKS / 4)
#define FL_GUARD_REVIEWS_HALF (FL_GUARD_REVIEWS / 2)
#define FL_GUARD_REVIEWS_UNTRUSTED (FL_GUARD_REVIEWS / 4)
/* An address with a first review that allowed nothing comes again for so long: longer than FL_GUARD_STALE, and no
 * multiple of an interval at which people scrape, as a flood would else meet the same scrape each time. */
#define FL_GUARD_FIRST_AGAIN (601 * FL_NS_PER_S)
#define FL_GUARD_REFUSED 1200                  /* the last such reviews: looked through for each request */
#define FL_GUARD_AWAY (10 * FL_NS_PER_S)       /* after a review that failed the API server counts as away so long */
#define FL_GUARD_ANSWERS 8                     /* in one turn, to those that waited for the same review */
#define FL_GUARD_USER 128                      /* of a user's name in a refusal */
#define FL_REVIEW_WARNINGS 8                   /* the API server shows 4 KiB of them all together ... */
#define FL_REVIEW_WARNING 256                  /* ... and cuts each at this many bytes */
#define FL_REVIEW_PATCH_MAX (256 * FL_KIB)     /* an object with a default in each of a thousand containers */
#define FL_REVIEW_ANSWER_MAX (512 * FL_KIB)    /* with such a patch in base64 */
#define FL_REVIEW_CONNS 256                    /* API servers keep one to three each; their proxies some more */
#define FL_ADMISSION_MAX 16                    /* webhooks of one program */

/* ---- roles ---- */

#define FL_ROLE_NAME 256                       /* of who holds a Lease: a Pod's name and what makes it unique */
#define FL_ROLE_EVENTS_WAIT (1 * FL_NS_PER_S)  /* at the end, for Events of what has just changed; they are no duty */
/* An agent that takes over from another one waits for its port: it has ended, or does so in seconds. */
#define FL_ROLE_LISTEN_RETRY (250 * FL_NS_PER_MS)
#define FL_ROLE_ALONE_WAIT (50 * FL_NS_PER_MS) /* before it asks the API server: its own start takes 15 ms */

/* ---- the GPU children and what they are asked ---- */

#define FL_GPU_PATH_MAX 512                  /* of the driver's library, its root before it: real ones have 60 */
#define FL_GPU_VERSION_MAX 32                /* of a driver: "550.54.15" */
#define FL_GPU_CARDS_MAX 64                  /* of one node: the largest have 16, and a hypervisor's host some more */
#define FL_GPU_PARTS_MAX 64                  /* of one card: hardware has 8 at most */
#define FL_GPU_CAPS_MAX (256 * FL_KIB)       /* mig-minors: 32 cards with all instances that there could be: 170 KiB */
/* Of a word of a pool that names no GPU, in a condition: a MIG device's UUID has 40 characters, and several words share
 * FL_PLAN_TEXT. */
#define FL_POOL_WORD_SHOWN 80
#define FL_GPU_FAULTS_MAX 256                /* kept at once: 16 cards with each XID that is known; more are counted */
#define FL_GPU_STORM 64                      /* kinds of event that a child remembers, to tell repeated ones at once */
/* Idle, the whole agent has 60 us a second: eight cards looked at take 3 ms, and events do not wait for a look. */
#define FL_GPU_LOOK_EVERY (30 * FL_NS_PER_S)
/* Bad news at once, and a card that comes back is not kept waiting; only those that need it are looked at so often. */
#define FL_GPU_LOOK_SOON (1 * FL_NS_PER_S)
/* Where there is no driver: how late its arrival may be noticed. A few calls of stat, 0.1 ms. */
#define FL_GPU_FIND_EVERY (2 * FL_NS_PER_S)
/* To load the driver's library and take up all cards: without the persistence daemon each card takes some seconds. */
#define FL_GPU_START_DEADLINE (60 * FL_NS_PER_S)
/* To read one card, which takes a millisecond; beyond a second or two nobody has seen one come back. Bad news within
 * 5 s, so not longer. */
#define FL_GPU_CARD_DEADLINE (4 * FL_NS_PER_S)
#define FL_GPU_LINKS_DEADLINE (10 * FL_NS_PER_S)   /* 600 calls on a machine of 16 cards */
/* A process that takes up the driver and one card from nothing, and makes a CUDA context on it. */
#define FL_GPU_CHECK_DEADLINE (60 * FL_NS_PER_S)
/* How cards are joined changes when a link fails, which is rare and told by an XID too. */
#define FL_GPU_LINKS_EVERY (600 * FL_NS_PER_S)
/* A card that hung is asked by a process of its own: soon, then ever later, as each may be stuck for good. */
#define FL_GPU_HUNG_RETRY_FIRST (1 * FL_NS_PER_S)
#define FL_GPU_HUNG_RETRY_LAST (300 * FL_NS_PER_S)
/* A child that crashed and is back within this time was no outage. */
#define FL_GPU_CRASH_GRACE (1 * FL_NS_PER_S)
/* A driver that has failed for so long has failed its cards, which are handed out no more. Not for a child that is
 * replaced: at once and then after a quarter of a second, a half, one and two, and each is given its second or two to
 * load the library. */
#define FL_GPU_SICK_GRACE (10 * FL_NS_PER_S)
/* Reports of cards that memory was refused for, kept until there is some: one for each card of a usual machine, each as
 * long as a child puts it at most. */
#define FL_GPU_LATE_MAX 8
#define FL_GPU_LATE_BYTES 248
/* Equal events of one card that come faster are told together: a storm of them costs next to nothing. */
#define FL_GPU_STORM_EVERY (100 * FL_NS_PER_MS)
/* Waiting for events fails: the card is gone, or the driver. Soon again, then so seldom that it costs nothing. */
#define FL_GPU_EVENTS_RETRY_FIRST (1 * FL_NS_PER_S)
#define FL_GPU_EVENTS_RETRY_LAST (30 * FL_NS_PER_S)
/* From the first word of all cards until their events are listened to: a process more takes three milliseconds of the
 * processor, and first the kubelet is to be told. What is reported meanwhile shows in the look that follows. */
#define FL_GPU_EVENTS_AFTER (20 * FL_NS_PER_MS)
/* Whoever asks us to let go of the driver waits so long: children that can die have died by then. */
#define FL_GPU_LET_GO (2 * FL_NS_PER_S)
/* Who else has the driver open is looked for while it is paused: 1,000 processes of 30 files take some 40 ms of a
 * worker. Bounds, so that no machine makes it long; named are as many as one line holds. */
#define FL_DRIVER_USERS_WAIT (1 * FL_NS_PER_S)
#define FL_DRIVER_USERS_EVERY (10 * FL_NS_PER_S)
#define FL_DRIVER_USERS_PIDS 20000
#define FL_DRIVER_USERS_FDS 4096
#define FL_DRIVER_USERS_NAMED 5
/* Containers are looked into this often while Pods hold GPUs: 1,000 processes take some 15 ms of a worker, and
 * libraries of another driver some ms more for each Pod. Bounds, so that no machine makes it long. */
#define FL_INSIDE_EVERY (60 * FL_NS_PER_S)
#define FL_INSIDE_FIRST (2 * FL_NS_PER_S)  /* after a driver has come: the kubelet is to be told first */
#define FL_INSIDE_WAIT (10 * FL_NS_PER_S)
#define FL_INSIDE_PIDS 20000
#define FL_INSIDE_CONTAINERS 1024
#define FL_INSIDE_PODS 64                  /* with something to tell of; the kubelet has 110 by default */
#define FL_INSIDE_MAP_BYTES (4 * FL_MIB)   /* of one process; 20,000 mappings */
/* Looks in a row without a fault that are counted: nobody asks for more, and a card at rest does not change. */
#define FL_CARD_CLEAN_MAX 10

/* ---- the kubelet's side of the agent ---- */

/* A device list: grpc-go, and so the kubelet, takes no message over 4 MiB. Some 45,000 shares. */
#define FL_PLUGIN_LIST_MAX (4 * FL_MIB)
#define FL_PLUGIN_NAME_SHOWN 30              /* bytes of a resource's name in its socket's: a path has 107 in all */
/* Until the next try: the end of an old stream may take a new one with it, which is over in a few ms; ... */
#define FL_PLUGIN_RETRY_FIRST (10 * FL_NS_PER_MS)
#define FL_PLUGIN_RETRY_LAST (300 * FL_NS_PER_MS)    /* ... and with jitter a kubelet is asked within 0.45 s */
#define FL_PLUGIN_TOLD_AFTER (30 * FL_NS_PER_S)      /* on the Node: a kubelet that starts anew is no news */
#define FL_PLUGIN_REFUSED_LAST (60 * FL_NS_PER_S)    /* one that says no, for as long as nothing changes */
#define FL_PLUGIN_STEADY (5 * FL_NS_PER_S)           /* a stream that lived so long had nothing wrong with it */
#define FL_PLUGIN_REGISTER_TIMEOUT (60 * FL_NS_PER_S)   /* a kubelet under load has taken 30 s */
#define FL_PLUGIN_WATCHED_WITHIN (2 * FL_NS_PER_S)   /* of being registered; it is a matter of ms */
#define FL_PLUGIN_LOOK_EVERY (30 * FL_NS_PER_S)      /* into the folder, in case the kernel's hints were lost */
#define FL_PLUGIN_PROBE_TIMEOUT (200 * FL_NS_PER_MS) /* of a socket that may be nobody's: the kernel answers at once */
#define FL_PLUGIN_HURRY_FIRST (10 * FL_NS_PER_MS)    /* a socket at which nobody listens is looked at again, */
#define FL_PLUGIN_HURRY_LAST (640 * FL_NS_PER_MS)    /* each time after twice as long */
#define FL_PLUGIN_OTHERS_EVERY (2 * FL_NS_PER_S)  /* into the folder while another plugin is there: it may die */
#define FL_PLUGIN_COUNT_AFTER (100 * FL_NS_PER_MS)   /* a list, or a stream's end: the kubelet has seen it by then, */
#define FL_PLUGIN_COUNT_AGAIN (1 * FL_NS_PER_S)      /* or a while later */
#define FL_PLUGIN_COUNT_EVERY (300 * FL_NS_PER_S)    /* where no other plugin has been for as long */
#define FL_PLUGIN_HELPS_MAX 3                        /* for one socket of another plugin: it may serve nothing */
#define FL_PLUGIN_SOCKETS_MAX 1024                   /* in the kubelet's folder: a leak is told, and not followed */

#define FL_HOLDERS_EVERY (30 * FL_NS_PER_S)          /* what is not told to us otherwise is seen as late as this */
/* After being asked: Allocate comes before the Pod is admitted, and a Pod of several containers asks several times. */
#define FL_HOLDERS_SOON (100 * FL_NS_PER_MS)
#define FL_HOLDERS_GRACE (30 * FL_NS_PER_S)          /* a kubelet knows all of its Pods within this of its start */
#define FL_HOLDERS_YOUNG_EVERY (2 * FL_NS_PER_S)     /* until then it learns of Pods that ran before it did */
#define FL_POD_UID 40                                /* room for the uid of a Pod: 36 characters */
/* Time between two requests for an eviction that a PodDisruptionBudget refuses: at least, and at most unless the API
 * server's Retry-After is longer. */
#define FL_EVICT_AGAIN (5 * FL_NS_PER_S)
#define FL_EVICT_RETRY_LAST (10 * FL_NS_PER_S)
/* So many refusals are remembered: the kubelet's default of Pods, which may share GPUs. When more are, the oldest is
 * forgotten, and that Pod is asked for at the next change. */
#define FL_EVICT_REFUSED 110
/* What the kubelet and the API server say of a Pod must contradict the book for so long: the kubelet tells the API
 * server within its sync period of 10 s how a Pod is. */
#define FL_BOOK_SURE (15 * FL_NS_PER_S)
#define FL_LISTS_SETTLE (30 * FL_NS_PER_S)   /* a driver that needs longer to start is news */
#define FL_LISTS_NAMED 4                     /* devices in a condition's message: whoever reads it needs an example */
/* Pods that a boot has refused are looked for this long after the kubelet's start: it admits all within seconds. */
#define FL_REFUSED_WATCH (600 * FL_NS_PER_S)
#define FL_HOLDERS_RETRY_FIRST (200 * FL_NS_PER_MS)  /* its throttle lets 100 a second through */
/* Before Pods are told of a card's health, the kubelet says who holds it now; bad news goes out within 5 s. One Event
 * for each of 16 cards of 7 parts may wait for it. */
#define FL_POD_EVENTS_WAIT (4 * FL_NS_PER_S)
#define FL_POD_EVENTS_MAX 128
/* An application that fails over and over reports an XID each time: its Pod needs one Event to be looked at, not one a
 * second. Remembered are as many as one busy node may have at once; beyond, the oldest is forgotten. */
#define FL_POD_EVENTS_XID_EVERY (600 * FL_NS_PER_S)
#define FL_POD_EVENTS_XIDS 64
#define FL_HOLDERS_TIMEOUT (10 * FL_NS_PER_S)        /* of one List, of thousands of containers */

#define FL_RECORDS_ASIDE_MAX 8                       /* unreadable records of a kind, kept for a person to see */

/* ---- node: the host, the agent ---- */

#define FL_PCI_PATH_MAX 256          /* of a card on the bus, each bridge 13 bytes: three switches in a row are 9 */
#define FL_HOST_PATH_MAX 192         /* of a driver's file inside its root, of a root: real ones have 80 */
#define FL_HOST_NAME_MAX 64          /* of a library */
#define FL_HOST_MESSAGE_MAX 600      /* what could not be looked at: two paths and words */
#define FL_HOST_LINKS 4              /* libcuda.so, libcuda.so.1, and some to spare */
#define FL_HOST_DIRS_MAX 32          /* $PATH and the usual directories of programs: a dozen */
#define FL_HOST_FILES_MAX 256        /* libraries, programs, firmware, configuration of one driver: 100 */
#define FL_HOST_LOOKED_MAX 768       /* names of the directories of libraries, and of the root */
#define FL_LIB_DIRS_MAX 24           /* the usual directories of libraries are 12; those of the linker's cache */
#define FL_LD_CACHE_MAX FL_MIB       /* /etc/ld.so.cache: 200 KiB on a machine with 3,000 libraries */
#define FL_HOST_NODES_MAX 512        /* 16 cards with seven partitions of two capabilities each, and their DRI nodes */
#define FL_HOST_DEADLINE (20 * FL_NS_PER_S)      /* a root on a disk that is slow and not dead */
#define FL_HOST_SETTLE (50 * FL_NS_PER_MS)       /* udev makes the nodes of a driver one after the other: one look */
#define FL_HOST_AGAIN (5 * FL_NS_PER_S)          /* after a look that came to nothing */
#define FL_ROOT_KNOWN_MAX 48         /* names that a look keeps in mind: with all places of the driver's files, 40 */
#define FL_HOST_EARLY (2 * FL_NS_PER_S)          /* the hook's program, just written; a driver may come much later */
#define FL_HOST_POLL (60 * FL_NS_PER_S)          /* what no directory tells: /proc/devices, files of the driver */
/* From a change of configuration files until it is followed: who edits saves twice, and each change that is followed is
 * two writes and a list for the kubelet. */
#define FL_CONFIG_SETTLE (250 * FL_NS_PER_MS)
#define FL_HOOK_STATE_MAX (8 * FL_MIB)       /* of a container: CRI-O puts the Pod's 256 KiB of annotations in twice */
#define FL_HOOK_CONFIG_MAX (8 * FL_MIB)      /* its configuration: an environment of thousands of services */
#define FL_HOOK_CACHE_MAX (8 * FL_MIB)       /* of an image's linker cache; 2,000 libraries are 160 KiB */
#define FL_HOOK_ENTRIES_MAX 512              /* names that the hook adds to it: a driver has 60 */
#define FL_HOOK_LIST_MAX (64 * FL_KIB)       /* of an image's list of the folders that musl looks into */
#define FL_CRIO_PATH_MAX 512                     /* of a CDI directory or a configuration file of CRI-O */
#define FL_CRIO_DIRS_MAX 16                      /* directories of CDI files; there are two */
#define FL_CRIO_FILES_MAX 64                     /* of crio.conf.d; OpenShift writes a dozen */
#define FL_CRIO_FILE_MAX (256 * FL_KIB)          /* of one: a crio.conf with all its comments is 40 KiB */
#define FL_CRIO_KEY_MAX 128                      /* of a key: a longer one is cut, for it is not looked for */
#define FL_CRIO_DEPTH_MAX 16                     /* of arrays and tables: each is a call on the stack */
#define FL_RUNTIME_EVERY (300 * FL_NS_PER_S)     /* a configuration that was changed without a restart */
#define FL_RUNTIME_DEADLINE (5 * FL_NS_PER_S)
#define FL_RUNTIME_RETRY (5 * FL_NS_PER_S)       /* it does not answer: it starts after us */
#define FL_RUNTIME_QUIET (10 * FL_NS_PER_S)      /* for so long that is not told: after a boot it takes seconds */
/* Clients of one MPS server on a GPU: NVIDIA's limits, from compute capability 7.5 on and below. */
#define FL_MPS_SHARES_MAX 48
#define FL_MPS_SHARES_OLD 16
#define FL_MPS_MARKED_MAX 1024               /* addresses of all cards of a node: 64 of 13 bytes */
#define FL_MPS_LIMITS_MAX 1536               /* a line for each of them: 64 of 20 bytes */
/* A daemon that does not answer is a fault within 5 s: probe and deadline together. Its end is reported at once. */
#define FL_MPS_PROBE_EVERY (3500 * FL_NS_PER_MS)
#define FL_MPS_PROBE_SOON (1 * FL_NS_PER_S)
#define FL_MPS_ANSWER_DEADLINE (1500 * FL_NS_PER_MS)
#define FL_MPS_START_DEADLINE (10 * FL_NS_PER_S)
#define FL_MPS_QUIT_DEADLINE (5 * FL_NS_PER_S)   /* it ends its servers first */
#define FL_MPS_LEFT_MAX 10000                /* names that Pods have left beside a daemon: a second's work */
#define FL_MPS_ROOT_MAX 200                  /* of its path: those below it are mounts of a Pod, and sockets */
#define FL_GPU_ROOTS_MAX 8           /* places where a driver may be installed */
/* At its end: for the kubelet to be told and the children to be gone. Whoever takes over waits for it, and hand-overs
 * are to take 200 ms. */
#define FL_AGENT_END_WAIT (100 * FL_NS_PER_MS)
#define FL_AGENT_OPEN_FIRST (250 * FL_NS_PER_MS) /* a journal that cannot be opened: a disk that is full heals ... */
#define FL_AGENT_OPEN_LAST (10 * FL_NS_PER_S)    /* ... when somebody comes */
#define FL_AGENT_OPEN_LATE (5 * FL_NS_PER_S)     /* locked so long: by another agent that goes on */
