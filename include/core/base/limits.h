/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_LIMITS_H
#define CORE_BASE_LIMITS_H

/*
 * The bounds of the program.  They limit the size, depth, number and delay of
 * all input (from API servers, webhook calls, files and credential plugins),
 * and what the table and the controller keep of it.  The comment on a bound
 * gives its reason, or says what real values are.  Units are in the names.
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
 * The table of keys in wire/config has the range of each setting.  The size
 * of a buffer for a text that we write ourselves is declared beside the
 * function that fills the buffer.  edge/timing.h has the daemon's deadlines as
 * fields, so that tests can run the daemon with shorter deadlines.
 */

/* clang-format off */
/* --- names, NULs included ------------------------------------------------- */

/* A DNS-1123 subdomain has up to 253 bytes. */
#define NAME_BYTES 254
/* A label value has up to 63 bytes. */
#define NODEPOOL_BYTES 64
/* Size of a ticket's holderIdentity.  A longer one is truncated. */
#define TICKET_HOLDER_BYTES 128
/* Maximum number of a ticket's patterns, and size of the buffer for them.  The
 * buffer has room for all patterns of a value of 2 KiB: a NUL ends each
 * pattern, and another NUL ends the list. */
#define TICKET_PATTERNS_MAX 64
#define TICKET_PATTERNS_BYTES (2048 + 2)
/* Maximum number of tickets.  All of them take 3.4 MiB. */
#define TICKETS_MAX 1000
/* Maximum time for which a ticket lasts without being renewed. */
#define TICKET_MAX_MS ((int64_t)7 * 24 * 3600 * 1000)
/* Size of the text that says why a ticket cannot be read. */
#define TICKET_FAULT_BYTES 128
/* A ticket's renewTime is not before the year 2000. */
#define TICKET_FIRST_MS ((int64_t)946684800 * 1000)
/* A ticket whose renewTime is further ahead of the API server's clock holds
 * nothing. */
#define TICKET_AHEAD_MAX_MS ((int64_t)10 * 60 * 1000)
/* Size of a NodePool's or ticket's annotation "reason".  A longer one is
 * truncated. */
#define REASON_BYTES 257
/* A UUID has 36 bytes. */
#define UID_BYTES 40
/* A resourceVersion is a 64-bit decimal number. */
#define RV_BYTES 32
/* An annotation key has up to 253 bytes of prefix, a '/', and 63 bytes of
 * name. */
#define KEY_BYTES 318
/* The value of a hold annotation.  A configuration with a longer value is
 * refused. */
#define VALUE_BYTES 254
/* The value of our annotation held-key, which is KEY=VALUE. */
#define HELD_KEY_BYTES (KEY_BYTES + VALUE_BYTES)
/* A class (CLASS_KEY in object.h), such as "substitute/" and a uid.  A longer
 * class is truncated. */
#define CLASS_BYTES 56
/* The continue token of a list: a key and a revision in base64. */
#define CONTINUE_BYTES 4096

/* --- the table ------------------------------------------------------------ */

/* Maximum number of Nodes, and of NodeClaims.  The memory limit sets the actual
 * maximum (daemon/memory.h).  Kubernetes is tested with 5,000 nodes; the
 * largest cluster presented in public had 130,000. */
#define MACHINES_MAX 262144
/* Maximum number of Nodes, and of NodeClaims, for `uninstall`.  Its Job has 256
 * MiB and runs no webhook, so it has room for a full table. */
#define UNINSTALL_MACHINES_MAX MACHINES_MAX
/* Average space for the strings of one object.  With EKS names, the two objects
 * of a machine need 88 bytes together. */
#define NAMES_BYTES 80
/* The space for strings has this size in addition to NAMES_BYTES per object. */
#define NAMES_BYTES_LEAST (64u << 10)
/* Kubernetes' limit for the annotations of one object. */
#define ANNOTATIONS_BYTES_MAX (256u << 10)
/* Space for hold, mark and held-key at their maximum lengths. */
#define ANNOTATIONS_ROOM 2048
/* Maximum number of remembered Events about claims that are not in the table
 * yet. */
#define DISRUPTION_EVENTS_MAX 16384
/* Maximum number of remembered times at which a claim got the condition
 * DisruptionReason. */
#define DISRUPTIONS_MAX 64
/* Karpenter's Event about a claim is believed if the claim was created at
 * most this long after a disruption. */
#define DISRUPTION_EVENT_MS 60000
/* Timestamps are truncated to whole seconds, so two of them may appear in
 * the wrong order by up to this much. */
#define STAMPS_MS 1000
/* Maximum number of deletions that are remembered for their substitutes. */
#define DELETIONS_MAX 4096
/* A claim that was created at most this long after a deletion began may be the
 * substitute for the deleted claim. */
#define SUBSTITUTE_MS 60000
/* The limit instead of SUBSTITUTE_MS if the deleted node was still draining
 * when the claim was created, or if failed claims have extended the deletion
 * (deletions_extend). */
#define DRAINING_MS 900000
/* How long a scope stays busy after a boot in it has failed. */
#define FAILED_BOOT_MS 60000
/* A claim that is launched counts from this age on, so that Karpenter's Event
 * about it comes first. */
#define COUNTS_AGE_MS 5000
/* If no release has been possible for this long, the holder reports it. */
#define BLOCKED_MS 60000
/* Interval at which a blocked release is reported again. */
#define BLOCKED_EVERY_MS 300000
/* Maximum time that a new leader waits for the first lists of NodePools, Events
 * and tickets. */
#define BEGIN_WAIT_MS 10000
/* Minimum time between two log lines that report a scope's new quiet time. */
#define MOVED_EVERY_MS 60000
/* Minimum time for which tickets hold a NodePool. */
#define TICKET_LEAST_MS 60000
/* Minimum time between two reports on the tickets that hold a NodePool, while
 * it stays held. */
#define TICKET_TOLD_EVERY_MS 60000
/* Maximum number of scopes, and of NodePools in their table.  Real clusters
 * have dozens. */
#define SCOPES_MAX 4096
/* Maximum number of patterns in each of nodePools.include and
 * nodePools.exclude. */
#define NODEPOOL_PATTERNS_MAX 64
/* Size of a pattern: twice that of a NodePool's name. */
#define NODEPOOL_PATTERN_BYTES 128

/* --- an AdmissionReview --------------------------------------------------- */

/* Maximum size of a review.  An object that has 3 MiB as protobuf may have this
 * size as JSON.  controller-runtime has the same limit. */
#define REVIEW_BYTES_MAX (7u << 20)
/* A review is big if its body is larger than this.  At most REVIEWS_BIG_MAX big
 * reviews are parsed at a time. */
#define REVIEW_BYTES_BIG (256u << 10)
/* Maximum number of big reviews that are parsed at a time.  It leaves one of
 * the two threads to small reviews. */
#define REVIEWS_BIG_MAX 1
/* Size of a review's uid.  A UUID has 36 bytes.  A review whose uid does not
 * fit is refused. */
#define REVIEW_UID_BYTES 129
/* Maximum depth of nested values.  The reader is recursive.  Real objects need
 * fewer than 20 levels. */
#define JSON_DEPTH_MAX 64
/* Maximum number of values in a body.  Without this limit, a body of 7 MiB of
 * `"",` would become a tree of 78 MB. */
#define JSON_VALUES_MAX 100000
/* Maximum number of values that are retained from a body.  Real bodies need
 * about a hundred. */
#define JSON_KEPT_VALUES_MAX 10000
/* Maximum size of the text that is retained from a body.  Kubernetes allows 256
 * KiB of annotations. */
#define JSON_KEPT_BYTES_MAX (512u << 10)

/* The limits instead of JSON_KEPT_VALUES_MAX and JSON_KEPT_BYTES_MAX for an
 * Event or a NodePool.  They are lower, because we keep no foreign annotations
 * of such an object. */
#define JSON_SMALL_VALUES_MAX 1000
#define JSON_SMALL_BYTES_MAX (64u << 10)

/* --- the webhook server --------------------------------------------------- */

/* Maximum total size of the bodies in memory.  A request beyond it gets 503.
 * Bodies over REVIEW_BYTES_BIG may take half of this size. */
#define SERVER_BYTES_MAX (32u << 20)
/* A low memory limit lowers SERVER_BYTES_MAX, but not below this size.  Half of
 * this size has room for one body of the maximum size. */
#define SERVER_BYTES_LEAST (14u << 20)
/* The server reads and discards the body of a refused request up to this size.
 * If it did not, a reset of the connection would destroy the reply. */
#define SERVER_DISCARD_MAX (32u << 20)
/* Maximum number of connections.  A connection is in use while the creation of
 * an object is reviewed.  Other connections are idle.  The memory limit sets
 * the actual maximum. */
#define SERVER_CONNECTIONS_MAX 4096
/* The memory limit leaves room for at least this many connections.  An API
 * server keeps 25 idle connections. */
#define SERVER_CONNECTIONS_LEAST 128
/* Buffer of a connection, for the request head, the reply head and one piece of
 * a body.  The head of a review has 500 bytes. */
#define SERVER_CONNECTION_BYTES (8u << 10)
/* Bytes that a client may send before its handshake is complete.  With the
 * largest keys a handshake needs 2 KiB. */
#define SERVER_HELLO_BYTES (16u << 10)
/* Bytes that a client may send after its handshake without any progress in
 * HTTP.  They have room for a part of a head and then the largest TLS
 * record. */
#define SERVER_SILENT_BYTES (20u << 10)
/* Maximum number of complete TLS records that HTTP has not consumed, over all
 * connections.  The first such record of each connection does not count.  A
 * head takes one or two records. */
#define SERVER_RECORDS_MAX 48
/* Memory that libgnutls uses for a record, even an empty one. */
#define SERVER_RECORD_BYTES (17 << 10)
/* Sizes of a socket's receive and send buffers.  The kernel allocates twice as
 * much. */
#define SERVER_RECEIVE_BYTES (16 << 10)
#define SERVER_SEND_BYTES (8 << 10)
/* Free memory is returned to the system when the number of open connections has
 * fallen by this much from its peak.  The peak counts from the previous
 * return. */
#define SERVER_TRIM 64
/* Number of threads that serve the webhook. */
#define SERVER_THREADS 2
/* A connection younger than this is not closed to admit another, unless all
 * places are taken. */
#define SERVER_FRESH_MS 1000
/* Maximum number of requests for one route that wait for the worker.  The other
 * places of the metrics address are for probes. */
#define SERVER_WAITING_MAX 8
/* Number of file descriptors that are reserved for everything except the
 * webhook's connections: 100 lanes (the sweeper's connections), 64 places of
 * the metrics address, watches, files. */
#define FILES_KEPT 256
/* Deadline for the handshake, and for the head of a request from its first
 * line on. */
#define SERVER_HEAD_MS 10000
/* The deadline instead of SERVER_HEAD_MS when at most a quarter of the
 * connections is free.  Our webhook calls have a timeout of 2 s. */
#define SERVER_HURRY_MS 1000
/* Deadline for the body after the head.  Kubernetes allows a webhook up to 30
 * s, and ours has 2 s. */
#define SERVER_BODY_MS 10000
/* Deadline for writing the reply, because the client may never read it. */
#define SERVER_REPLY_MS 10000
/* Idle time after which we close a connection.  It is longer than the 90 s
 * after which the API server closes the connection.  Otherwise we might close
 * while a review arrives, and the API server would not send that review
 * again. */
#define SERVER_IDLE_MS 120000
/* Maximum number of connections to the metrics address. */
#define HEALTH_CONNECTIONS_MAX 64
/* Idle time after which a connection to the metrics address is closed.  A
 * scraper connects again. */
#define HEALTH_IDLE_MS 10000
/* Maximum total size of metrics pages and /status replies that their readers
 * have not read yet. */
#define HEALTH_UNREAD_BYTES_MAX METRICS_PAGE_BYTES
/* Maximum number of NodePools for which the metrics show a hold by hand. */
#define HAND_SERIES_MAX 1024
/* Size of the buffer for the metrics page.  4,096 scopes, as many NodePools
 * held by hand, and every status code of every method need 1.3 MiB. */
#define METRICS_PAGE_BYTES (1412u << 10)
/* Size of the buffer for one reply of /status.  A cluster with dozens of
 * NodePools needs 30 KiB, a full history another 170 KiB. */
#define STATUS_PAGE_BYTES (384u << 10)
/* Minimum time between two counts of all machines for /status. */
#define STATUS_FIGURES_MS 1000
/* After SIGTERM the webhook serves until it has been without an open connection
 * for this long, or until drainTimeout is over.  A Service stops routing to a
 * pod a few seconds after the pod's kubelet told it to stop. */
#define DRAIN_QUIET_MS 10000

/* Interval at which the certificate and key files are checked. */
#define CERT_LOOK_MS 1000
/* A thread that has not reported for this long is stuck. */
#define HEART_MS 30000

/* --- the API client ------------------------------------------------------- */

/* Items per page, as in client-go. */
#define LIST_PAGE 500
/* Items per page of a fresh list (enum act in core/rules/decide.h), which has
 * only metadata.  Pages are large because etcd counts all remaining keys for
 * each page. */
#define LIST_FRESH_PAGE 2000
/* Items per page of the lists of `uninstall` and `check`, and of a fresh list
 * that follows a failed one.  Such a page has about a megabyte. */
#define LIST_METADATA_PAGE 250
/* Maximum number of pages of a list.  With LIST_METADATA_PAGE items each, these
 * hold more than MACHINES_MAX items. */
#define LIST_PAGES_MAX 1100
/* Maximum number of objects of a list, also if the API server sends more of
 * them in a page than it is asked for.  There may be more Events than
 * MACHINES_MAX. */
#define LIST_OBJECTS_MAX (LIST_PAGES_MAX * LIST_PAGE)
/* Time after which no further page of a list is asked for.  The continue token
 * of an API server is valid for 5 to 10 minutes. */
#define LIST_WHOLE_MS 600000
/* Maximum size of an object, or of a reply that is kept in one piece.  The
 * objects that we watch have some KiB.  etcd accepts 1.5 MiB, and JSON may need
 * six bytes for each byte of that.  Items larger than this limit are
 * skipped. */
#define ITEM_BYTES_MAX (1u << 20)
/* Maximum size of the reply to a PATCH.  Only its resourceVersion is used. */
#define WRITE_ANSWER_MAX (16u << 10)
/* Maximum size of a list without its items, or of a Status. */
#define ENVELOPE_BYTES_MAX (64u << 10)
/* Timeout for one page.  API servers end a call after 60 s. */
#define LIST_MS 60000
/* Timeout for a PATCH or a GET, which normally takes milliseconds. */
#define CALL_MS 10000
/* Timeout for name resolution, TCP and TLS. A lost packet is sent again
 * after 1 s and 3 s. */
#define CONNECT_MS 5000
/* Idle time before the first TCP keepalive probe.  With three probes, a dead
 * peer is detected within 30 s. */
#define KEEPALIVE_IDLE_S 15
/* Time between two TCP keepalive probes. */
#define KEEPALIVE_PROBE_S 5
/* Shortest timeout of a watch.  As in client-go, timeouts are 5 to 10
 * minutes. */
#define WATCH_MIN_S 300
/* A watch that is silent for this long is broken.  These are 2.5 bookmark
 * periods of a minute each. */
#define WATCH_SILENT_MS 150000
/* Backoff after the first failure, as in client-go's reflector. */
#define BACKOFF_MIN_MS 800
/* Longest backoff before jitter.  client-go waits up to 30 s.  The four or five
 * watches of a replica are no load, and they should resume soon after an
 * outage. */
#define BACKOFF_MAX_MS 10000
/* If there was no failure for this long, the next backoff is BACKOFF_MIN_MS
 * again, as in client-go. */
#define BACKOFF_RESET_MS 120000
/* Minimum time between two lists of a resource that the API server does not
 * serve, because its CRD is missing. */
#define UNSERVED_MS 5000
/* Maximum size of a token.  A service account token has 2 KiB. */
#define TOKEN_BYTES_MAX (64u << 10)
/* Maximum size of the head of a reply.  Real ones have 1 KiB. */
#define HEAD_BYTES_MAX (64u << 10)
/* Longest Retry-After that is obeyed.  The API server sends 32 s at most, but a
 * proxy may send an hour. */
#define RETRY_AFTER_MAX_S 300
/* After a line, the watch of Nodes waits this long for more lines, because a
 * wakeup costs more than reading a line. */
#define WATCH_GATHER_MS 100
/* A lane (one of the sweeper's connections) that is idle for this long closes
 * its connection. */
#define LANES_REST_MS 15000
/* Normally each answer lets the sweeper open one more connection
 * (kube_lanes_ready).  If no answer comes for this long, it opens as many as it
 * needs. */
#define LANES_PATIENCE_MS 200
/* A connection that was idle for this long is not used again, because the API
 * server closes idle connections after 90 s. */
#define CONNECTION_IDLE_S 80L
/* Interval at which a token file is read again, as in client-go. */
#define TOKEN_MS 60000
/* Maximum size of each of the four PEM values of our Secret.  They have less
 * than 1 KiB. */
#define SECRET_PEM_MAX 8192
/* Maximum size of an answer with our Secret or the webhook configuration.  Both
 * may be larger than ITEM_BYTES_MAX after edits by hand: the API server stores
 * 1 MiB of data, which grows by a third in base64, and 256 KiB of annotations,
 * in which each byte may be escaped. */
#define RENEWAL_ANSWER_MAX (4u << 20)
/* After this many failures in a row the renewer logs a failure as a warning
 * again.  It tries about twice a minute. */
#define RENEWAL_FAILURES_TOLD 20
/* Maximum number of webhooks in a configuration.  Ours has one. */
#define WEBHOOKS_MAX 8
/* Maximum size of a CA bundle in PEM.  One CA has 1 KiB. */
#define WEBHOOKS_BUNDLE_MAX (64u << 10)
/* Maximum number of registrations (webhook configurations, a policy and its
 * binding) that uninstall handles at a time.  The next pass handles the
 * rest. */
#define REGISTERED_MAX 8
/* Size of an error message of the API server.  A longer one is truncated.  In a
 * refusal by a policy, two names come before the reason. */
#define API_MESSAGE_BYTES 400
/* The token bucket of the writes of Events, so that nobody can fill etcd with
 * them by changing a ticket or an annotation.  EVENTS_BURST allows an Event on
 * each of that many NodePools at once. */
#define EVENTS_PER_S 1
#define EVENTS_BURST 64
/* Maximum time at shutdown for writing Events that are due. */
#define EVENT_SERIES_STOP_MS 1000

/* Maximum leaseDuration.  The leaseDurationSeconds of a Lease is believed for
 * no longer, because anybody may have written it. */
#define LEASE_MS_MAX 60000
/* Size of the kubectl command that deletes the Lease. */
#define LEASE_COMMAND_BYTES (NAME_BYTES + NODEPOOL_BYTES + 32)

/* --- the controller ------------------------------------------------------- */

/* Maximum time to wait for the watch line of our own write. */
#define EXPECT_MS 10000
/* Delay before the next fresh list, if the last one showed something that the
 * table does not know yet.  Also the shortest backoff after a fresh list that
 * failed. */
#define FRESH_RETRY_MS 1000
/* If the fresh list of tickets fails for this long, a release goes on without
 * it. */
#define FRESH_TICKETS_MS 60000
/* The watch is considered broken if this many fresh lists in a row were of no
 * use, and the last of them showed something that the table does not know. */
#define FRESH_TRIES 5
/* Minimum time between two lists of a kind that are made because objects did
 * not fit the table, or because the watch skipped some. */
#define RELIST_LEFT_OUT_MS 60000
/* Maximum number of notes that nobody has fetched yet. */
#define NOTES_MAX 1024
/* Size of a machine's name in the journal.  Karpenter's names have up to 63
 * bytes. */
#define JOURNAL_NAME_BYTES 128
/* Maximum number of turns that the journal keeps for /status.  A busy day has
 * about a hundred. */
#define JOURNAL_TURNS 1024
/* Maximum number of turns that the next leader receives. */
#define JOURNAL_KEPT 64
/* Maximum number of results of writes that are kept for
 * /status/machines/NAME. */
#define JOURNAL_WRITES 4096
/* Turns that are older than this are not shown. */
#define JOURNAL_MS 86400000
/* Minimum length of the timeline on the status page. */
#define STATUS_LAST_MS 300000
/* Maximum number of objects that one call of a report reads.  Between two such
 * calls the caller releases the lock for a moment. */
#define STATUS_SLICE 256
/* How many times per period (docs/rules.md#words) hold and mark are restored
 * after somebody removed both. */
#define REHOLDS_MAX 3
/* If the API server's time is at least this far from the time that we expect,
 * the API server's clock was set.  Smaller differences are followed slowly, and
 * are not logged. */
#define CLOCK_SHIFT_MS 5000
/* A small clock drift is followed in steps of limited size.  The limit grows
 * with time (`slew` in steady.c), and a step is made once the limit has reached
 * this size. */
#define SLEW_STEP_MS 10
/* Default of `uninstall --timeout`.  5,000 nodes take a minute. */
#define UNINSTALL_MS 600000
/* Pause between two lists that must both show no mark and no class.  During the
 * pause an API server may still call a deleted webhook, and Karpenter may still
 * have the old copy of a claim. */
#define UNINSTALL_PAUSE_MS 5000

/* Delay of a write after its first refusal, before jitter. */
#define REFUSED_MIN_MS 1000
/* Maximum delay after repeated refusals.  With jitter it is up to twice as
 * long. */
#define REFUSED_MAX_MS 300000
/* After a 409 a write waits for the watch line with the newer version.  After
 * the first 409 it waits no longer than a random time between this and twice
 * this. */
#define CONFLICT_MS 250

/* --- `holderctl check` ---------------------------------------------------- */

/* Maximum number of findings that are printed.  The others are counted. */
#define FINDINGS_MAX 100
/* Default of --timeout. */
#define DOCTOR_MS 120000
/* How long a replica may take, once the time of a leader that does not renew
 * its Lease is over, to take the Lease. */
#define DOCTOR_TAKEOVER_MS 3000
/* Time between two checks with --wait. */
#define DOCTOR_AGAIN_MS 1000
/* A NodePool counts as held in vain if none of its machines has a hold, now and
 * after this time. */
#define DOCTOR_HOLDS_MS 5000
/* Maximum number of registered webhooks that are judged.  Usually there is
 * one. */
#define DOCTOR_WEBHOOKS_MAX 4
/* Maximum number of NodePools that are remembered, so that the holder's pods
 * and the holds on Nodes can be judged. */
#define DOCTOR_NODEPOOLS_MAX 256
/* Maximum number of NodePools for which a creation is tried with a dry run. */
#define DOCTOR_TRIED_MAX 8
/* Maximum number of unknown annotations of ours that are reported of one
 * NodePool. */
#define DOCTOR_STRANGE_MAX 4
/* A hold-until that is further ahead than this is reported, as it may be a
 * typing error in the year. */
#define DOCTOR_FAR_MS (30 * INT64_C(86400000))
/* A holder that has observed for longer than this is reported, as it may have
 * been forgotten. */
#define DOCTOR_OBSERVED_MS (7 * INT64_C(86400000))
/* Maximum number of namespaces with a holder that are remembered.  Usually
 * there is one. */
#define DOCTOR_SITES_MAX 4
/* Bytes of the labels of the pods of a Deployment. */
#define DOCTOR_LABELS_BYTES 1024
/* Maximum number of pods of the holder that are judged.  Usually there are
 * two. */
#define DOCTOR_PODS_MAX 16

/* Maximum numbers of arguments and of variables of a kubeconfig's credential
 * plugin. */
#define EXEC_ARGS_MAX 128
#define EXEC_ENV_MAX 128
/* Maximum size of each argument, each variable, the command and the install
 * hint. */
#define EXEC_TEXT_MAX 8192
/* How long a credential plugin may run.  It may call a cloud API and retry. */
#define EXEC_MS 60000
/* Maximum size of a plugin's output.  A token has 2 KiB. */
#define EXEC_OUT_MAX (64u << 10)
/* A token is renewed this long before it expires, so that it outlives a call
 * (CALL_MS). */
#define EXEC_EARLY_MS 10000
/* Minimum time between two runs of a plugin that returns the same token. */
#define EXEC_PAUSE_MS 1000

/* --- the command simulate ------------------------------------------------- */

/* Maximum number of files that are merged, such as rotated ones or those of
 * replicas: a file for each ten minutes of a week. */
#define SIMULATE_FILES_MAX 1000
/* Maximum number of settings that are compared.  Each has a controller. */
#define SIMULATE_SETTINGS_MAX 32
/* Maximum number of machines that exist at the same time. */
#define SIMULATE_MACHINES_MAX 65536
/* Maximum number of facts that are kept to be sorted, because an earlier fact
 * may still come. */
#define SIMULATE_FACTS_MAX 65536
/* Maximum total size of the facts that are kept to be sorted.  A fact may be as
 * long as its line. */
#define SIMULATE_FACTS_BYTES_MAX (32u << 20)
/* A value that was cut is given up after so many texts that do not continue
 * it. */
#define READER_MISSES_MAX 256
/* Maximum number of labels of a series that are compared, of labels that tell
 * replicas apart, and of Nodes of which the labels are compared. */
#define MATRIX_LABELS_MAX 24
#define MATRIX_REPLICA_LABELS_MAX 8
#define MATRIX_SEEN_MAX 64
/* Maximum number of objects around an object that is looked for in a value,
 * also if they are JSON in strings. */
#define READER_DEPTH_MAX 8
/* Facts of one line that are compared with the next facts of that line */
#define READER_TOLD_MAX 8
/* By how much the times of a file's lines may be out of order.  Replicas and
 * log shippers interleave their lines. */
#define SIMULATE_DISORDER_MS 60000
/* A line whose time is this far ahead of the previous line's counts only if the
 * next line confirms it. */
#define SIMULATE_JUMP_MS 86400000
/* A line whose time is this far from those of both neighbours does not
 * count. */
#define SIMULATE_GAP_MS 604800000
/* The year 2000.  An earlier time comes from a clock that was never set. */
#define SIMULATE_EARLIEST_MS 946684800000
/* The year 2100.  A later time comes from a clock that was never set. */
#define SIMULATE_LATEST_MS 4102444800000
/* Maximum number of different log messages that are counted one by one.
 * Karpenter has about a hundred. */
#define SIMULATE_MESSAGES_MAX 256
/* Size of the buffer for each of these messages.  A longer message is cut. */
#define SIMULATE_MESSAGE_BYTES 80
/* Maximum number of turns that are listed for each setting: a month with a hold
 * every ten minutes. */
#define SIMULATE_TURNS_MAX 4096
/* Maximum number of steps of the line in a picture.  The picture is 900 pixels
 * wide. */
#define SIMULATE_STEPS_MAX 1024
/* Maximum number of decisions that a picture shows. */
#define SIMULATE_MARKS_MAX 8192
/* Maximum number of parts into which the decisions of a log are divided, so
 * that parts of the log can be compared.  The middle of a log can then be found
 * to a sixty-fourth of its length. */
#define SIMULATE_SPANS_MAX 64
/* Maximum time from the end of a hold to Karpenter's next decision: 5 min until
 * it considers the node again, 10 s of its poll, 15 s of validation. */
#define SIMULATE_RETHINK_MS 325000

/* --- Prometheus, which simulate may ask ----------------------------------- */

/* Maximum number of points of a series that Prometheus returns in one reply. */
#define PROMETHEUS_POINTS 11000
/* A query for fewer points is not split further. */
#define PROMETHEUS_POINTS_LEAST 10
/* Maximum number of steps into which the whole time range is divided. */
#define PROMETHEUS_STEPS_MAX (1000 * PROMETHEUS_POINTS)
/* Maximum size of the label matchers in a query, such as those for cluster and
 * job. */
#define PROMETHEUS_MATCH_MAX 500
/* The longest step, which is the time between two points of a series. */
#define PROMETHEUS_STEP_MAX_MS 3600000
/* Maximum size of a reply: a thousand machines at each of PROMETHEUS_POINTS. */
#define PROMETHEUS_ANSWER_MAX (256u << 20)
/* Timeout for a reply.  Prometheus gives up a query after two minutes. */
#define PROMETHEUS_MS 180000

/* --- the command hold ----------------------------------------------------- */

/* How long `hold --for` tries to write the ticket. */
#define HOLD_WRITE_MS 30000
/* How long `hold --while` waits until the leader holds.  A watch line takes
 * milliseconds, and a new leader up to ten seconds for its first lists. */
#define HOLD_LEADER_MS 15000
/* Maximum time that `hold` spends at its end on deleting the ticket. */
#define HOLD_END_MS 5000
/* The longest time between two queries to Prometheus. */
#define HOLD_EVERY_MAX_MS 3600000
/* Maximum size of an expression for Prometheus. */
#define HOLD_QUERY_MAX 4000

/* --- the command record --------------------------------------------------- */

/* Maximum number of Events that are kept until their NodeClaim appears. */
#define RECORD_EARLY_MAX 1024
/* Maximum number of deleted NodeClaims that are remembered, because Events
 * about them may still come. */
#define RECORD_GONE_MAX 1024
/* Interval at which new facts are printed. */
#define RECORD_LOOK_MS 500
/* While a watch is interrupted, a fact waits this long to be printed, because
 * that watch may still show an earlier fact. */
#define RECORD_PATIENCE_MS 5000

/* --- memory --------------------------------------------------------------- */

/* The smallest memory limit that leaves space for the table. */
#define MEMORY_MIN ((int64_t)64 << 20)
/* The smallest memory limit if the holder watches tickets. */
#define MEMORY_TICKETS_MIN ((int64_t)72 << 20)

/* --- the log -------------------------------------------------------------- */

/* Maximum size of the lines that the reader of stderr has not read yet. */
#define LOG_WAITING_BYTES_MAX (256u << 10)
/* Maximum time that the process waits at its end until the reader of stderr has
 * read the log. */
#define LOG_END_MS 1000

/* --- what record and uninstall print -------------------------------------- */

/* Maximum size of a line.  An error has 240 bytes, a name 253. */
#define OUTPUT_LINE_MAX 2048
/* When this much output waits for its reader, a command adds no more.
 * uninstall prints this much for 5,000 objects. */
#define OUTPUT_WAITING_MAX (256u << 10)
/* Maximum time that a command waits after a signal until its output has been
 * read. */
#define OUTPUT_END_MS 1000

/* --- files ---------------------------------------------------------------- */

/* Maximum wait for more data from a pipe. */
#define FILE_PIPE_MS 5000
/* Maximum size of a configuration file or kubeconfig: that of a ConfigMap. */
#define CONFIG_BYTES_MAX (1u << 20)
/* Maximum size of a file with certificates or a key: that of a Secret. */
#define CERT_BYTES_MAX (1u << 20)
/* Maximum number of certificates in a file.  Real chains have two or three. */
#define CERTS_CHAIN_MAX 10
/* Maximum depth of a YAML file.  Real files need fewer than 10 levels. */
#define YAML_DEPTH_MAX 64
/* Maximum number of values in a YAML file.  Real files have some hundred. */
#define YAML_NODES_MAX 100000

#endif
