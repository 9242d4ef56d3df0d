/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_LIMITS_H
#define CORE_BASE_LIMITS_H

/*
 * The bounds of the program: how large, how deep, how many and how late
 * whatever comes from others may be (from API servers, their webhook calls,
 * files, credential plugins), and what follows from them for the table and the
 * controller.  A comment gives the reason, or what real values are.  Units are
 * in the names.
 *
 * These places have bounds of their own, because nothing else needs to know
 * them:
 *
 *	core/protocol/		what a step machine keeps, and its own pace
 *	core/base/duration.h	durations
 *	core/base/counters.h	status codes that are counted one by one
 *	edge/certs/		certificates that we issue
 *	cli/options.h		warnings of one start
 *
 * The table of keys in wire/config has the range of each setting.  The buffer
 * of a text that we write ourselves, or cut for show, is declared beside the
 * function that fills it.  edge/timing.h makes fields of the deadlines of the
 * daemon, so that tests can run it with shorter ones.
 */

/* clang-format off */
/* Names, NULs included. */
#define NAME_BYTES 254		/* DNS-1123 subdomain: 253 */
#define NODEPOOL_BYTES 64	/* a label value: 63 */
#define REASON_BYTES 257	/* of a NodePool's annotation "reason": 256 */
#define UID_BYTES 40		/* a UUID: 36 */
#define RV_BYTES 32		/* resourceVersion: 64 bits in decimal, with
				   room to spare */
#define KEY_BYTES 318		/* annotation key: 253 + '/' + 63 */
#define VALUE_BYTES 254		/* a hold's value; longer ones are refused */
#define HELD_KEY_BYTES (KEY_BYTES + VALUE_BYTES)	/* KEY=VALUE */
#define CLASS_BYTES 56		/* "substitute/" and a uid; longer ones are
				   cut */
#define CONTINUE_BYTES 4096	/* the token of a list: base64 of a key and a
				   revision */

/* The table. */
#define MACHINES_MAX 262144	/* of each kind, at most; how many there may be
				   follows from the memory limit
				   (daemon/memory.h).  Kubernetes is tested to
				   5,000; the largest cluster that was shown has
				   130,000 */
#define UNINSTALL_MACHINES_MAX MACHINES_MAX	/* its Job has 256 MiB and no
						   webhook */
#define NAMES_BYTES 80		/* for the strings of each object, on average;
				   those of a machine's two objects take 88 if
				   they are named as EKS does */
#define NAMES_BYTES_LEAST (64u << 10)	/* room for strings in addition to that
					   of all objects */
#define ANNOTATIONS_BYTES_MAX (256u << 10)	/* Kubernetes' own limit for one
						   object */
#define ANNOTATIONS_ROOM 2048	/* hold, mark and held-key at their longest */
#define DISRUPTION_EVENTS_MAX 16384	/* about claims that are yet to be
					   seen */
#define DISRUPTIONS_MAX 64	/* remembered moments at which claims got the
				   condition DisruptionReason */
#define DISRUPTION_MS 10000	/* a claim may replace a disrupted one if it was
				   created this soon after such a moment */
#define DISRUPTION_EVENT_MS 60000	/* Karpenter's Event about a claim is
					   believed if the claim was created
					   this soon after such a moment */
#define STAMPS_MS 1000		/* how far two stamps may lie apart the wrong
				   way round, because both are cut to whole
				   seconds */
#define DELETIONS_MAX 4096	/* remembered for their substitutes */
#define SUBSTITUTE_MS 60000	/* a substitute is created this soon after its
				   deletion began */
#define DRAINING_MS 900000	/* the same if the deleted node was still
				   draining then */
#define RETRIES_MAX 256		/* boots that failed and may be tried again */
#define AGAIN_MAX 64		/* how many machines of a scope that try a boot
				   again count twice towards minScaleUp: with
				   their own creation and with that of the first
				   try */
#define RETRY_MS 60000		/* how long the machine of a boot that failed
				   goes on counting */
#define UNDECIDED_MS 5000	/* a claim that may replace another is undecided
				   for so long after it was first seen
				   launched */
#define UNDECIDED_MAX_MS 30000	/* but no longer than this after it was first
				   seen at all */
#define BLOCKED_MS 60000	/* how long holds cannot be released before this
				   is reported */
#define BLOCKED_EVERY_MS 300000	/* how often it is then reported again */
#define BEGIN_WAIT_MS 10000	/* how long a new leader waits for the first
				   lists of NodePools and Events */
#define MOVED_EVERY_MS 60000	/* how often we report that a scope's quiet time
				   has moved */
#define SCOPES_MAX 4096		/* scopes, and NodePools in their table; real
				   clusters have dozens */
#define HELD_KEYS_MAX 16	/* previous holds whose marks are still on
				   objects */
#define NODEPOOL_PATTERNS_MAX 64	/* in each of include and exclude */
#define NODEPOOL_PATTERN_BYTES 128	/* twice the longest name */

/* An AdmissionReview. */
#define REVIEW_BYTES_MAX (7u << 20)	/* a 3 MiB protobuf object as JSON, as
					   controller-runtime allows */
#define REVIEW_BYTES_BIG (256u << 10)	/* above this at most REVIEWS_BIG_MAX
					   are parsed at once */
#define REVIEWS_BIG_MAX 1	/* so one of two threads stays free */
#define REVIEW_UID_BYTES 129	/* a UUID has 36; longer ones are refused */
#define JSON_DEPTH_MAX 64	/* the reader recurses; real objects need less
				   than 20 */
#define JSON_VALUES_MAX 100000	/* without this bound, a body of 7 MiB of `"",`
				   would become a tree of 78 MB */
#define JSON_KEPT_VALUES_MAX 10000	/* values kept of a body; real bodies
					   have a hundred of them */
#define JSON_KEPT_BYTES_MAX (512u << 10)	/* the same, as text;
					   Kubernetes allows 256 KiB of
					   annotations */

#define JSON_SMALL_VALUES_MAX 1000	/* the values kept of an Event or a
					   NodePool, without the annotations of
					   others */
#define JSON_SMALL_BYTES_MAX (64u << 10)

/* The webhook server. */
#define SERVER_BYTES_MAX (32u << 20)	/* bodies held at once; beyond: 503.
					   Those over REVIEW_BYTES_BIG may take
					   half of it */
#define SERVER_BYTES_LEAST (14u << 20)	/* … if the table is full and the memory
					   limit low; half of it is one of the
					   largest */
#define SERVER_DISCARD_MAX (32u << 20)	/* read from a refused body, so that the
					   answer is not lost in a reset */
#define SERVER_CONNECTIONS_MAX 4096	/* one per creation in flight, and idle
					   ones; how many there may be follows
					   from the memory limit */
#define SERVER_CONNECTIONS_LEAST 128	/* an API server keeps 25 idle ones */
#define SERVER_CONNECTION_BYTES (8u << 10)	/* the head, the reply's head
						   and one piece of a body; the
						   head of a review has 500
						   bytes */
#define SERVER_HELLO_BYTES (16u << 10)	/* from a client until its handshake is
					   done; 2 KiB with the largest keys */
#define SERVER_SILENT_BYTES (20u << 10)	/* … and later until HTTP gets on: the
					   largest record of TLS, and a part of
					   a head before it */
#define SERVER_RECORDS_MAX 48	/* whole records that HTTP has made nothing of:
				   of all connections together, beyond one for
				   each; a head takes one or two */
#define SERVER_RECORD_BYTES (17 << 10)	/* kept by libgnutls for each, even if
					   it is empty */
#define SERVER_RECEIVE_BYTES (16 << 10)	/* the kernel's buffers; it takes
					   twice as much */
#define SERVER_SEND_BYTES (8 << 10)
#define SERVER_TRIM 64	/* how many connections have to close before we give
			   back memory that a flood took */
#define SERVER_THREADS 2
#define SERVER_FRESH_MS 1000	/* until then a connection is not closed for
				   another, unless all places are taken */
#define SERVER_WAITING_MAX 8	/* requests of a route that wait for the worker:
				   the other places of the metrics address stay
				   for probes */
#define FILES_KEPT 256		/* descriptors for everything but the webhook's
				   connections: 100 lanes, 64 places of the
				   metrics address, watches, files */
#define SERVER_HEAD_MS 10000	/* handshake; request line to complete head */
#define SERVER_HURRY_MS 1000	/* the same while only a quarter of the places
				   is left: a webhook call is given 2 s */
#define SERVER_BODY_MS 10000	/* head to complete body: Kubernetes gives a
				   webhook 30 s at most, and gives ours 2 */
#define SERVER_REPLY_MS 10000	/* until the reply is written: the client may
				   never read it */
#define SERVER_IDLE_MS 120000	/* above the API server's 90 s, because it does
				   not retry when we close first */
#define HEALTH_CONNECTIONS_MAX 64	/* of the metrics address */
#define HEALTH_IDLE_MS 10000	/* the same for them: a scraper dials again */
#define HEALTH_UNREAD_BYTES_MAX METRICS_PAGE_BYTES	/* pages, and answers of
							   /status, that are not
							   yet read */
#define HAND_SERIES_MAX 1024	/* NodePools that the metrics say are held by
				   hand */
#define METRICS_PAGE_BYTES (1408u << 10)	/* 4,096 scopes, as many of
						   these, and every code of
						   every method take 1.3 MiB */
#define STATUS_PAGE_BYTES (384u << 10)	/* one answer of /status; a cluster with
					   dozens of NodePools takes 30 KiB,
					   and a full history 170 */
#define STATUS_FIGURES_MS 1000	/* how often the machines are counted anew, if
				   somebody asks */
#define DRAIN_QUIET_MS 10000	/* from SIGTERM, or the last connection, to the
				   end: a Service lets go of a pod a few seconds
				   after its kubelet has told it to stop */

#define CERT_LOOK_MS 1000	/* how often the pair's files are looked at */
#define HEART_MS 30000		/* a thread silent for longer is stuck */

/* The API client. */
#define LIST_PAGE 500		/* items per page, as in client-go */
#define LIST_FRESH_PAGE 2000	/* of a fresh list, which brings metadata only;
				   large, because etcd counts all keys behind
				   each page */
#define LIST_METADATA_PAGE 250	/* of a fresh list after one has failed, and of
				   those of `uninstall`: a megabyte */
#define LIST_PAGES_MAX 1100	/* of one list: of LIST_METADATA_PAGE items,
				   more than MACHINES_MAX */
#define ITEM_BYTES_MAX (1u << 20)	/* an object, or an answer that is kept
					   whole.  Those that we watch have some
					   KiB.  etcd takes 1.5 MiB, and JSON
					   may make six bytes of one: an item
					   beyond this is left out */
#define WRITE_ANSWER_MAX (16u << 10)	/* the answer to a patch, of which only
					   the version is needed */
#define ENVELOPE_BYTES_MAX (64u << 10)	/* a list without its items, or a
					   Status */
#define LIST_MS 60000		/* one page; API servers end a call after 60 s
				   themselves */
#define CALL_MS 10000		/* a patch or a get, which take milliseconds */
#define CONNECT_MS 5000		/* name, TCP and TLS; a lost packet is sent
				   again after 1 and 3 s */
#define KEEPALIVE_IDLE_S 15	/* together with three probes, a dead peer is
				   found within 30 s */
#define KEEPALIVE_PROBE_S 5	/* from one probe to the next */
#define WATCH_MIN_S 300		/* client-go asks for 5 to 10 minutes */
#define WATCH_SILENT_MS 150000	/* 2.5 bookmark periods of a minute */
#define BACKOFF_MIN_MS 800	/* client-go's reflector */
#define BACKOFF_MAX_MS 10000	/* client-go waits up to 30 s; four watches in a
				   replica are no load, and an outage should end
				   at once */
#define BACKOFF_RESET_MS 120000	/* after so long without a failure the backoff
				   begins again with BACKOFF_MIN_MS; as in
				   client-go */
#define UNSERVED_MS 5000	/* how long we wait before we list a resource
				   again whose CRD is missing */
#define TOKEN_BYTES_MAX (64u << 10)	/* a service account's token takes 2
					   KiB */
#define HEAD_BYTES_MAX (64u << 10)	/* of an answer; real ones take 1 KiB */
#define RETRY_AFTER_MAX_S 300	/* the API server asks for 32 s at most; a proxy
				   that asks for an hour must not stop us for
				   one */
#define WATCH_GATHER_MS 100	/* after a line, the watch of Nodes lets others
				   gather.  Waking up costs more than reading a
				   line */
#define LANES_REST_MS 15000	/* idle lanes close their connections */
#define LANES_PATIENCE_MS 200	/* without an answer for so long, calls open
				   connections as if none were slow */
#define CONNECTION_IDLE_S 80L	/* the API server closes idle ones at 90 s */
#define TOKEN_MS 60000		/* a token file is read again this often, as in
				   client-go */
#define SECRET_PEM_MAX 8192	/* each of the four; ours take less than 1
				   KiB */
#define WEBHOOKS_MAX 8		/* our configuration has one */
#define WEBHOOKS_BUNDLE_MAX (64u << 10)	/* PEM; a CA takes 1 KiB */
#define REGISTERED_MAX 8	/* uninstall sees the rest when it looks
				   again */
#define API_MESSAGE_BYTES 400	/* an API server's words, cut: the two names of
				   a policy stand before what it has to say */
#define EVENT_SERIES_STOP_MS 1000	/* at the stop, how long we wait for
					   Events that are due */

/* The controller. */
#define EXPECT_MS 10000		/* how long we wait for a write's watch line */
#define FRESH_RETRY_MS 1000	/* after a fresh list that knew more than the
				   table */
#define FRESH_TRIES 5		/* such lists before we mistrust the watch */
#define RELIST_LEFT_OUT_MS 60000	/* how often we ask for what a full
					   table, or a watch, has left out */
#define NOTES_MAX 1024		/* reported and not yet fetched */
#define JOURNAL_NAME_BYTES 128	/* of a machine; Karpenter's names have 63 */
#define JOURNAL_TURNS 1024	/* how many turns of scopes the journal keeps
				   for /status; a busy day has about a hundred
				   turns */
#define JOURNAL_KEPT 64		/* how many of these turns the next leader
				   gets */
#define JOURNAL_WRITES 4096	/* answers to writes, for
				   /status/machines/NAME */
#define JOURNAL_MS 86400000	/* older turns are not shown */
#define STATUS_LAST_MS 300000	/* the least that the page's timeline shows */
#define STATUS_SLICE 256	/* objects that a report looks at before it
				   gives the lock away */
#define LAUNCH_GRACE_MS 5000	/* a claim without a Launched condition counts
				   at this age */
#define REHOLDS_MAX 3		/* how often in a period hold and mark are
				   restored after somebody removed both */
#define CLOCK_SHIFT_MS 5000	/* smaller shifts are not logged */
#define SLEW_STEP_MS 10		/* how much drift is followed at once */
#define UNINSTALL_MS 600000	/* the default of --timeout; 5,000 nodes take a
				   minute */
#define UNINSTALL_PAUSE_MS 5000	/* between two lists that show no mark: by then
				   every API server has heard of a webhook that
				   is gone, and Karpenter of a claim that is
				   clear */

#define REFUSED_MIN_MS 1000	/* how long a write waits that was refused for
				   the first time */
#define REFUSED_MAX_MS 300000	/* how long it waits at most, to which jitter
				   adds up to as much again */
#define CONFLICT_MS 250		/* after a 409 a write waits for the watch line
				   with the newer version, but at first no
				   longer than this */

/* `holderctl check`. */
#define FINDINGS_MAX 100	/* kept and printed; the rest is counted */
#define DOCTOR_MS 60000		/* for all calls, --wait not included */
#define DOCTOR_AGAIN_MS 1000	/* from one look to the next, with --wait */
#define DOCTOR_WEBHOOKS_MAX 4	/* registered at once; one is usual */
#define DOCTOR_NODEPOOLS_MAX 256	/* looked up for the holder's pods */
#define DOCTOR_TRIED_MAX 8	/* NodePools that a dry run tries */
#define DOCTOR_SITES_MAX 4	/* namespaces with a holder; one is usual */
#define DOCTOR_PODS_MAX 16	/* of the holder; two are usual */

/* A credential plugin of a kubeconfig. */
#define EXEC_ARGS_MAX 128
#define EXEC_ENV_MAX 128
#define EXEC_TEXT_MAX 8192	/* each argument and variable, the command and
				   the hint */
#define EXEC_MS 60000		/* a plugin may ask a cloud and try again */
#define EXEC_OUT_MAX (64u << 10)	/* how much it may print; a token takes
					   2 KiB */
#define EXEC_EARLY_MS 10000	/* a token is renewed this long before it
				   expires, so that it outlives a call
				   (CALL_MS) */
#define EXEC_PAUSE_MS 1000	/* the least time between two runs that bring
				   nothing new */

/* The command simulate. */
#define SIMULATE_FILES_MAX 64	/* that are merged; rotated files and replicas,
				   each with a buffer */
#define SIMULATE_SETTINGS_MAX 32	/* that are compared, each with a
					   controller */
#define SIMULATE_MACHINES_MAX 65536	/* that exist at the same time */
#define SIMULATE_FACTS_MAX 65536	/* read, and waiting for earlier ones */
#define SIMULATE_FACTS_BYTES_MAX (32u << 20)	/* of these: a fact may be as
				   long as its line */
#define LINE_FACTS_MAX (2 * JOURNAL_TURNS + 8)	/* that one line may tell: an
						   answer of /status, each turn
						   of which may tell two */
#define SIMULATE_DISORDER_MS 60000	/* how late a line may stand in its
					   file: replicas and log shippers write
					   by turns */
#define SIMULATE_JUMP_MS 86400000	/* a line that is this far ahead of the
					   line before it has to be confirmed by
					   the next line */
#define SIMULATE_GAP_MS 604800000	/* a line that is this far from the line
					   before it and from the next one is
					   alone, and does not count */
#define SIMULATE_EARLIEST_MS 946684800000	/* 2000 … */
#define SIMULATE_LATEST_MS 4102444800000	/* … to 2100: any other time is
						   that of a clock which was not
						   set */
#define SIMULATE_MESSAGES_MAX 256	/* counted one by one; Karpenter has
					   about a hundred */
#define SIMULATE_MESSAGE_BYTES 80	/* of each that is counted */
#define SIMULATE_TURNS_MAX 4096	/* of each setting that are listed, of a month
				   with a hold every ten minutes */
#define SIMULATE_STEPS_MAX 1024	/* of the line in a picture; it is 900
				   pixels wide */
#define SIMULATE_MARKS_MAX 8192	/* decisions that a picture shows */
#define SIMULATE_SPANS_MAX 64	/* of decisions, for comparing parts of a log:
				   half a log is good to a sixty-fourth */
#define SIMULATE_RETHINK_MS 325000	/* from the end of a hold until
					   Karpenter decides again, at most: 5
					   min until it looks, 10 s of its
					   poll, 15 s of validation */

/* Prometheus, which simulate may ask. */
#define PROMETHEUS_POINTS 11000	/* how many points of a series Prometheus gives
				   in one answer */
#define PROMETHEUS_POINTS_LEAST 10	/* a shorter stretch of time is not cut
					   any more */
#define PROMETHEUS_STEPS_MAX (1000 * PROMETHEUS_POINTS)	/* from the beginning
						   to the end */
#define PROMETHEUS_MATCH_MAX 500	/* bytes of the label matchers in a
					   query, such as those of cluster and
					   job */
#define PROMETHEUS_STEP_MAX_MS 3600000
#define PROMETHEUS_ANSWER_MAX (256u << 20)	/* a thousand machines at every
						   one of these points */
#define PROMETHEUS_MS 180000	/* for an answer; Prometheus itself gives a
				   query two minutes */

/* The command record. */
#define RECORD_EARLY_MAX 1024	/* Events that are kept in case their NodeClaim
				   shows up */
#define RECORD_GONE_MAX 1024	/* NodeClaims that are gone, and may yet have
				   Events */
#define RECORD_LOOK_MS 500	/* how often what has come is printed */
#define RECORD_PATIENCE_MS 5000	/* how long it is kept back for the other
					   watch */

/* Memory. */
#define MEMORY_MIN ((int64_t)64 << 20)	/* of a limit: below this there would
					   be no room for the table */

/* The log. */
#define LOG_WAITING_BYTES_MAX (256u << 10)	/* lines that the reader of
						   stderr has not taken yet */
#define LOG_END_MS 1000		/* how long the end of the process waits for
				   that reader */

/* What record and uninstall print. */
#define OUTPUT_LINE_MAX 2048	/* bytes: an error has 240, a name 253 */
#define OUTPUT_WAITING_MAX (256u << 10)	/* bytes that the reader has not taken
					   yet: what uninstall says of 5,000
					   objects */
#define OUTPUT_END_MS 1000	/* after a signal, how long they wait for a
				   reader that takes nothing */

/* Files. */
#define FILE_PIPE_MS 5000	/* for the next bytes of a pipe */
#define CONFIG_BYTES_MAX (1u << 20)	/* all that fits a ConfigMap */
#define CERT_BYTES_MAX (1u << 20)	/* all that fits a Secret */
#define CERTS_CHAIN_MAX 10	/* certificates in a file; real chains have
				   two or three */
#define YAML_DEPTH_MAX 64	/* real files need less than 10 */
#define YAML_NODES_MAX 100000	/* real files have some hundred values */

#endif
